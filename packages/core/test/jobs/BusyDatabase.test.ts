import { SqlError } from "@effect/sql"
import { assert, layer as withLayer } from "@effect/vitest"
import { CommitUnknown } from "@reins/core/store/LostConnection"
import { identity } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { counted, given, newKind, succeeded, working } from "./Workers.js"

/** The refusals of a database that say nothing against the work, as the drivers give them. */
const refusals: Readonly<Record<string, unknown>> = {
  "a wait for a lock that was too long": { code: "55P03" },
  "a statement that took too long": { code: "57014" },
  "too many connections": { code: "53300" },
  "a deadlock": { code: "40P01" },
  "a server that ends": { code: "57P01" },
  "a server that begins": { code: "57P03" },
  "a connection that broke": { code: "ECONNRESET" }
}

for (const { layer, name } of databases) {
  const { database, traffic } = counted(layer)
  withLayer(identity(database))(`work that a busy database refuses, on ${name}`, (it) => {
    for (const [what, cause] of Object.entries(refusals))
      it.effect(`is tried again after ${what}, more often than work that fails by itself`, () =>
        Effect.gen(function* () {
          const { enqueue, pass } = yield* given(traffic)
          const told: Array<string> = []
          const refusal = new SqlError.SqlError({ cause, message: "canary of a row" })
          const kind = newKind({
            run: ({ claim }) =>
              claim.attempt === 1
                ? Effect.die(new CommitUnknown({ cause: refusal }))
                : claim.attempt < 6
                  ? Effect.die(refusal)
                  : Effect.succeed(succeeded),
            failed: (_, { code }) => Effect.sync(() => void told.push(code))
          })
          const id = yield* enqueue(kind)
          const job = yield* pass(id, ({ state }) => state === "succeeded" || state === "failed").pipe(
            Effect.provide(working(kind))
          )
          assert.deepStrictEqual([job.state, told], ["succeeded", []])
          assert.deepStrictEqual(
            job.attempts.map(({ error, state }) => [state, error?.code ?? null]),
            [...Array.from({ length: 5 }, () => ["abandoned", "storage_failed"]), ["succeeded", null]]
          )
          const [first] = job.attempts
          assert.match(
            first?.error?.message ?? "",
            /^The database of the service was busy or away for too long, so its result/
          )
        })
      )
  })
}
