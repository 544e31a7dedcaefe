import { Effect, Layer, Redacted } from "effect"
import { AccountId } from "../../../base/src/domain/Ids.js"
import type { Principal } from "../../../base/src/domain/Principal.js"
import { Bell } from "../../src/store/Bell.js"
import { Database } from "../../src/store/Database.js"
import { Journal } from "../../src/store/Journal.js"
import { Oversight } from "../../src/store/Oversight.js"
import * as Postgres from "../../src/store/Postgres.js"
import * as Sqlite from "../../src/store/Sqlite.js"

// A process of its own that runs a command with a policy and an audit log, and kills itself at one of its steps.

const [kind = "", place = "", name = "", killAt = ""] = process.argv.slice(2)

const step = (at: string) =>
  Effect.sync(() => {
    if (at === killAt) process.kill(process.pid, "SIGKILL")
  })

const database: Layer.Layer<Database | Bell, unknown> =
  kind === "SQLite"
    ? Layer.merge(Sqlite.layer(place), Bell.layer)
    : Postgres.layer(Redacted.make(place), { clock: "process" })

const oversight = Layer.effect(
  Oversight,
  Effect.map(Database, (db) => ({
    before: () => step("allowed"),
    inCommit: (commanded) =>
      step("done").pipe(
        Effect.zipRight(db.run(db.sql`insert into audit ${db.sql.insert({ command: commanded.name })}`)),
        Effect.zipRight(step("audited"))
      )
  }))
)

/** A policy is asked about the commands of accounts. */
const caller: Principal = {
  accountId: AccountId.make("acct_00000000000000000000000000"),
  scopes: ["admin"],
  workspaceId: null,
  via: { kind: "embedded" }
}

const program = Effect.gen(function* () {
  const db = yield* Database
  yield* db.run(db.sql`create table if not exists audit (command text)`)
  const effect = db.run(
    db.sql`insert into throttle_hits ${db.sql.insert({ id: name, subject: name, hit_at: "2026-01-01" })}`
  )
  yield* (yield* Journal).command(name, { by: caller, about: { type: "test", id: name } }, effect)
  yield* step("committed")
}).pipe(Effect.provide(Journal.layer.pipe(Layer.provideMerge(oversight), Layer.provideMerge(database))))

void Effect.runPromise(Effect.scoped(program)).then(() => process.exit(0))
