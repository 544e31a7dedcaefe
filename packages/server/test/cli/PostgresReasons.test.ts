import { randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { administer, postgresDatabase } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { Effect, Redacted, type Scope } from "effect"
import pg from "pg"
import { inject } from "vitest"
import { change, codeOf, newCaller, send, service } from "../Service.js"
import { reinsAt } from "./Cli.js"

const password = "canary-password-77"

const newName = (): string => `reins_${randomBytes(6).toString("hex")}`

/** A user of PostgreSQL that owns nothing. */
const newUser = (options = "") =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const name = newName()
      yield* administer(`create role ${name} login password '${password}' ${options}`)
      return name
    }),
    (name) => administer(`drop role ${name}`)
  )

/** The URL of a database, with something else in it. */
const changed = (url: Redacted.Redacted, change: (url: URL) => void): string => {
  const other = new URL(Redacted.value(url))
  change(other)
  return other.href
}

const nameOf = (url: Redacted.Redacted): string => new URL(Redacted.value(url)).pathname.slice(1)

const as = (url: Redacted.Redacted, user: string, secret = password) =>
  changed(url, (other) => Object.assign(other, { username: user, password: secret }))

/** The command, whose standard error is one sentence, without a stack and without what the URL holds. */
const refused = (databaseUrl: string, args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const cwd = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-pg-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const env = { REINS_DATABASE_URL: databaseUrl, REINS_DATA_DIR: cwd }
    const { status, stderr, stdout } = yield* Effect.promise(() => reinsAt({ cwd, env }, args))
    assert.strictEqual(status, 1, stderr + stdout)
    assert.notInclude(stderr + stdout, password)
    assert.notMatch(stderr + stdout, /^ +at /m)
    return { stderr, stdout }
  })

/** A connection of somebody else. */
const connected = (url: Redacted.Redacted) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new pg.Client({ connectionString: Redacted.value(url) })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

/** Puts lines before the others of pg_hba.conf, for as long as the scope lives. */
const admitting = (lines: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const client = yield* connected(Redacted.make(inject("postgresUrl")))
      const { rows } = yield* Effect.promise(() => client.query<{ hba_file: string }>("show hba_file"))
      const path = rows[0]?.hba_file ?? assert.fail("there is no pg_hba.conf")
      const before = readFileSync(path, "utf8")
      const write = (text: string) =>
        Effect.promise(() => {
          writeFileSync(path, text)
          return client.query("select pg_reload_conf()")
        })
      yield* write(`${lines.join("\n")}\n${before}`)
      return write(before)
    }),
    (undo) => undo
  ).pipe(Effect.asVoid)

/** Each case makes a database, and gives back the URL by which it is refused. */
const cases: Readonly<Record<string, readonly [RegExp, Effect.Effect<string, never, Scope.Scope>]>> = {
  "of another encoding": [
    /has the encoding LATIN1, .* UTF8/,
    Effect.gen(function* () {
      const name = newName()
      const create = administer(`create database ${name} encoding 'LATIN1' locale 'C' template template0`)
      yield* Effect.acquireRelease(create, () => administer(`drop database ${name} with (force)`))
      return changed(Redacted.make(inject("postgresUrl")), (url) => Object.assign(url, { pathname: `/${name}` }))
    })
  ],
  "in whose schema the user may not create anything": [
    /may not create tables in the schema "public".*grant create on schema/,
    Effect.gen(function* () {
      const user = yield* newUser()
      return as(yield* postgresDatabase, user)
    })
  ],
  "that takes no writes": [
    /takes no writes .*default_transaction_read_only/,
    Effect.gen(function* () {
      const url = yield* postgresDatabase
      yield* administer(`alter database ${nameOf(url)} set default_transaction_read_only = on`)
      return Redacted.value(url)
    })
  ],
  "without the schema of its search_path": [
    /no schema of the user's search_path/,
    Effect.gen(function* () {
      const url = yield* postgresDatabase
      yield* administer(`alter database ${nameOf(url)} set search_path = nowhere`)
      return Redacted.value(url)
    })
  ],
  "that does not exist": [
    /no database of the name/,
    Effect.map(postgresDatabase, (url) => changed(url, (other) => Object.assign(other, { pathname: "/nothing_here" })))
  ],
  "for a user with another password": [
    /refuses the password of the user/,
    Effect.gen(function* () {
      const user = yield* newUser()
      return as(yield* postgresDatabase, user, "another")
    })
  ],
  "for a user who may not log in": [
    /refuses the user/,
    Effect.gen(function* () {
      const user = yield* newUser()
      yield* administer(`alter role ${user} nologin`)
      return as(yield* postgresDatabase, user)
    })
  ],
  "for a user without a connection left": [
    /takes no more connections/,
    Effect.gen(function* () {
      const user = yield* newUser("connection limit 0")
      return as(yield* postgresDatabase, user)
    })
  ],
  "of a server without TLS, where TLS is asked for": [
    /has no TLS/,
    Effect.map(postgresDatabase, (url) => changed(url, (other) => other.searchParams.set("sslmode", "verify-full")))
  ],
  "that lets the user in over TLS alone": [
    /lets the user of REINS_DATABASE_URL in over TLS alone.*sslmode/,
    Effect.gen(function* () {
      const user = yield* newUser()
      yield* admitting([`hostssl all ${user} all scram-sha-256`, `hostnossl all ${user} all reject`])
      return as(yield* postgresDatabase, user)
    })
  ],
  "whose disk is full": [
    /The disk of PostgreSQL is full\. Make room on it\./,
    Effect.gen(function* () {
      const url = yield* postgresDatabase
      // Every statement that makes something fails as it does on a full disk.
      const client = yield* connected(url)
      yield* Effect.promise(() =>
        client.query(`create function fill_up() returns event_trigger language plpgsql as
            $$ begin raise 'could not extend file' using errcode = 'disk_full'; end $$;
          create event trigger full_disk on ddl_command_start execute function fill_up()`)
      )
      return Redacted.value(url)
    })
  ],
  "whose statements may take no time": [
    /statement_timeout/,
    Effect.gen(function* () {
      const url = yield* postgresDatabase
      yield* administer(`alter database ${nameOf(url)} set statement_timeout = '1ms'`)
      return Redacted.value(url)
    })
  ]
}

/** Those that PostgreSQL refuses in different ways: by what it is, by a right, at the door, and in the middle of a statement. */
const inPlainRun = new Set([
  "of another encoding",
  "in whose schema the user may not create anything",
  "for a user with another password",
  "that lets the user in over TLS alone",
  "whose disk is full"
])

describe("a PostgreSQL database", () => {
  const isRefused = ([which, [sentence, prepare]]: readonly [string, (typeof cases)[string]]) =>
    it.scopedLive(`${which} is refused in a sentence, by the doctor too`, () =>
      Effect.gen(function* () {
        const url = yield* prepare
        const { stderr } = yield* refused(url, ["migrate"])
        assert.match(stderr, /^reins: .*\n$/)
        assert.match(stderr, sentence)
        assert.match((yield* refused(url, ["doctor"])).stdout, sentence)
      })
    )

  const isPlain = ([which]: readonly [string, unknown]) => inPlainRun.has(which)
  for (const each of Object.entries(cases).filter(isPlain)) isRefused(each)
  variants(() => {
    for (const each of Object.entries(cases).filter((one) => !isPlain(one))) isRefused(each)
  })

  it.scopedLive("whose lock another connection holds for longer than lock_timeout is busy, which is no failure", () =>
    Effect.gen(function* () {
      const url = yield* postgresDatabase
      yield* administer(`alter database ${nameOf(url)} set lock_timeout = '100ms'`)
      const client = yield* connected(url)
      yield* Effect.gen(function* () {
        const { bearer: headers } = yield* newCaller()
        const me = yield* send("GET", "/api/me", { headers })
        const [, workspace = ""] = /"workspaces":\[\{"id":"([^"]+)"/.exec(me.text) ?? []
        const path = `/api/workspaces/${workspace}/projects`
        const create = () => change("POST", path, { headers, body: { name: "one", slug: "one" } })
        yield* Effect.promise(() => client.query("begin; lock table projects in access exclusive mode"))
        for (const reply of [yield* create(), yield* send("GET", path, { headers })]) {
          assert.deepStrictEqual([reply.status, codeOf(reply)], [503, "waiting_capacity"], reply.text)
          assert.strictEqual(reply.headers.get("retry-after"), "1")
        }
        yield* Effect.promise(() => client.query("commit"))
        assert.strictEqual((yield* create()).status, 201)
      }).pipe(Effect.provide(service({ databaseUrl: url })))
    })
  )

  it.scopedLive("whose schema another connection locks for longer than lock_timeout is refused in a sentence", () =>
    Effect.gen(function* () {
      const url = yield* postgresDatabase
      yield* administer(`alter database ${nameOf(url)} set lock_timeout = '50ms'`)
      const client = yield* connected(url)
      yield* Effect.promise(() =>
        client.query(
          "create table effect_sql_migrations (migration_id integer primary key, created_at timestamptz not null default now(), name text not null)"
        )
      )
      yield* Effect.promise(() => client.query("begin; lock table effect_sql_migrations in access exclusive mode"))
      assert.match((yield* refused(Redacted.value(url), ["migrate"])).stderr, /^reins: .*lock_timeout.*\n$/)
    })
  )
})
