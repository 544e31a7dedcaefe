import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Reins } from "@reins/client"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller as newCallerOf } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { beginTurn } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { change, codeOf, newCaller, send, service } from "./Service.js"

/** The codes with which PostgreSQL refuses a statement, each with the reason that the answer to the request gives. */
const refusals = {
  "53100": "disk_full",
  "25006": "read_only",
  "58030": "io_error",
  "53200": "database_busy",
  "53300": "database_busy",
  "55P03": "database_busy",
  "57014": "database_busy",
  "40001": "database_busy",
  "40P01": "database_busy",
  "57P01": "database_unavailable"
} as const

const connectedTo = async (connectionString: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString })
  // The database is dropped with its connections.
  client.on("error", () => {})
  await client.connect()
  return client
}

describe("a request that PostgreSQL refuses for a reason that passes", () => {
  it(
    "is 503 with that reason and when to try again, never 500, and the same request succeeds after it",
    {
      timeout: 120_000
    },
    () =>
      Effect.gen(function* () {
        const url = yield* postgresDatabase
        const client = yield* Effect.promise(() => connectedTo(Redacted.value(url)))
        yield* Effect.gen(function* () {
          const { bearer } = yield* newCaller()
          const me = yield* send("GET", "/api/me", { headers: bearer })
          const [, workspace = ""] = /"workspaces":\[\{"id":"([^"]+)"/.exec(me.text) ?? []
          yield* Effect.promise(() =>
            client.query(`create table refusal (code text);
            create function refuse() returns trigger language plpgsql as $$
              declare given text := (select code from refusal);
              begin
                if given is not null then raise 'canary-of-a-row' using errcode = given; end if;
                return new;
              end $$;
            create trigger refused before insert on projects for each row execute function refuse()`)
          )
          for (const [code, reason] of Object.entries(refusals)) {
            const create = change("POST", `/api/workspaces/${workspace}/projects`, {
              headers: { ...bearer, "idempotency-key": `busy-${code}` },
              body: { name: "one", slug: `one-${code.toLowerCase()}` }
            })
            yield* Effect.promise(() => client.query("insert into refusal values ($1)", [code]))
            const reply = yield* create
            assert.deepStrictEqual([reply.status, codeOf(reply)], [503, "waiting_capacity"], `${code}: ${reply.text}`)
            assert.include(reply.text, `"reason":"${reason}"`)
            assert.notInclude(reply.text, "canary")
            assert.match(reply.headers.get("retry-after") ?? "none", /^\d+$/)
            yield* Effect.promise(() => client.query("delete from refusal"))
            assert.strictEqual((yield* create).status, 201, code)
          }
        }).pipe(Effect.provide(service({ databaseUrl: url })))
        yield* Effect.promise(() => client.end())
      }).pipe(Effect.scoped, Effect.runPromise)
  )
})

describe("a turn on a PostgreSQL that is busy", () => {
  const place = placeForEachTest()

  const given = async (setting: string) => {
    const url = await place.newPostgresDatabase()
    const other = await connectedTo(url)
    await other.query(`alter database ${new URL(url).pathname.slice(1)} set ${setting}`)
    const env = { REINS_DATABASE_URL: url, REINS_CACHE_DIR: cacheWithSmallAgent(place.directory) }
    const server = await startServer({ dataDir: place.dataDir, env })
    const caller = await newCallerOf(server, place.dataDir, place.gateway, env)
    const client = caller.at(server)
    return { client, other, server, session_id: await caller.newSession(client) }
  }

  /** Holds a table until the server has waited for it in more than so many transactions, of which all but the last were refused. */
  const hold = async (other: pg.Client, table: string, refusals: number) => {
    await other.query(`begin; lock table ${table} in access exclusive mode`)
    const seen = new Set<string>()
    return async () => {
      await eventually(`${refusals} refusals`, async () => {
        const waiting = await other.query<{ begun: string }>(
          `select virtualtransaction as begun from pg_locks where not granted and relation = '${table}'::regclass`
        )
        for (const { begun } of waiting.rows) seen.add(begun)
        return seen.size > refusals
      })
      await other.query("commit")
    }
  }

  const assertDone = async (client: Reins, turn_id: string, job_id: string, log: string) => {
    const turn = await client.turns.wait({ turn_id })
    assert.strictEqual(turn.state, "succeeded", `${JSON.stringify(turn)}\n${log}`)
    assert.lengthOf((await client.jobs.get({ job_id })).attempts, 1, log)
    assert.notMatch(log, /^ +at /m)
  }

  for (const setting of ["lock_timeout = '100ms'", "statement_timeout = '1500ms'"]) {
    it(`goes on when what it tells was refused by ${setting}`, async () => {
      const { client, other, server, session_id } = await given(setting)
      const { job_id, turn_id } = await beginTurn(
        client,
        session_id,
        script(
          "Work.",
          { tool: "bash", cmd: `until test -e ${place.directory}/go; do sleep 0.1; done` },
          { say: "Done." }
        ),
        "tool.started"
      )
      const letGo = await hold(other, "events", 3)
      writeFileSync(join(place.directory, "go"), "")
      await letGo()
      await assertDone(client, turn_id, job_id, server.log())
      await other.end()
    })
  }

  it("begins when what it needs before its agent was refused", async () => {
    const { client, other, server, session_id } = await given("lock_timeout = '100ms'")
    const { operation, turn_id = "" } = await client.messages.send({
      session_id,
      content: script("Say.", { say: "Done." })
    })
    const letGo = await hold(other, "sessions", 3)
    await letGo()
    await assertDone(client, turn_id, operation?.job_id ?? "", server.log())
    await other.end()
  })
})
