import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, it, layer } from "@effect/vitest"
import { Reins } from "@reins/client"
import * as Embedded from "@reins/core/Embedded"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { Executors } from "@reins/machine/executor/Executors"
import { gitea } from "@reins/machine/forge/Gitea"
import { HttpServer, Server } from "@reins/server"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { Context, Effect, Layer, Redacted } from "effect"
import { script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { quiet, send } from "./Service.js"

/** The leases whose agents the executor has started. */
class Started extends Context.Tag("@reins/server/test/Started")<Started, Set<string>>() {
  static readonly layer = Layer.sync(Started, () => new Set<string>())
}

const counting = Layer.unwrapEffect(
  Effect.gen(function* () {
    const local = yield* Executors.local
    const started = yield* Started
    return Executors.layerOf([
      {
        ...local,
        backend: "counting",
        spawn: (command) => {
          started.add(command.leaseId)
          return local.spawn(command)
        }
      }
    ])
  })
)

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-own-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** An embedded core with an executor, providers and a forge of its own, which is served. */
const served = Layer.unwrapScoped(
  Effect.gen(function* () {
    const started = yield* Effect.context<Started>()
    const executors = Layer.provide(counting, Layer.succeedContext(started))
    return HttpServer.layer({ port: 0, notice: 0 }).pipe(
      Layer.provideMerge(
        Embedded.layer(
          { dataDir: yield* directory, allowPrivateHosts: ["127.0.0.1"] },
          {
            executors,
            manifests: smallAgents,
            forges: [{ ...gitea, kind: "codeberg", defaultUrl: "https://codeberg.org" }]
          }
        )
      )
    )
  })
).pipe(Layer.provideMerge(Started.layer), Layer.provide([quiet, PasswordCost.layerTest]))

const client = Effect.gen(function* () {
  const { principal, workspaceId } = yield* Embedded.owner
  const key = yield* (yield* ApiKeys).issueFor(principal.accountId, {
    name: "own",
    scopes: ["admin"],
    workspaceId: null
  })
  const { url } = yield* Server
  return { reins: new Reins({ baseUrl: url, apiKey: key.secret }), workspaceId, secret: key.secret }
})

layer(served, { excludeTestServices: true })("a server over layers of one's own", (it) => {
  it.scoped("runs a turn through the executor that was plugged in, which is the default", () =>
    Effect.gen(function* () {
      const { reins, workspaceId } = yield* client
      const gateway = yield* Effect.acquireRelease(
        Effect.promise(() => startGateway()),
        (open) => Effect.promise(() => open.close())
      )
      yield* Effect.promise(async () => {
        await reins.connections.create({
          workspace_id: workspaceId,
          kind: "alpha_gateway",
          label: "gateway",
          credential: { base_url: gateway.url, api_key: "some-key" }
        })
        const session = await reins.sessions.create({
          workspace_id: workspaceId,
          harness: { provider_id: "alpha", model: "scripted-1" }
        })
        assert.strictEqual(session.executor.backend, "counting")
        const { turn } = await reins
          .run({ session_id: session.id, content: script("Say it.", { say: "Said." }) })
          .final()
        assert.strictEqual(turn.state, "succeeded")
      })
      assert.strictEqual((yield* Started).size, 1)
    })
  )

  it.effect("answers 422 to names that it does not have, and lists those that it has", () =>
    Effect.gen(function* () {
      const { secret, workspaceId } = yield* client
      const headers = { authorization: `Bearer ${secret}` }
      const post = (path: string, body: unknown) =>
        send("POST", `/api/workspaces/${workspaceId}/${path}`, {
          headers: { ...headers, "idempotency-key": path },
          body
        })
      const session = yield* post("sessions", { executor: { backend: "local" } })
      assert.strictEqual(session.status, 422)
      assert.deepInclude(session.json, {
        detail: [
          {
            type: "literal_error",
            loc: ["body", "executor", "backend"],
            msg: "Input should be 'counting'",
            input: "local",
            ctx: { expected: "'counting'" }
          }
        ]
      })
      const connection = yield* post("connections", { kind: "github", label: "x", credential: { token: "t" } })
      assert.strictEqual(connection.status, 422)
      assert.include(
        connection.text,
        "Input should be 'alpha_gateway', 'beta', 'gateway', 'codeberg', 'git', 'git_ssh' or 'mcp_oauth'"
      )
      const document = (yield* send("GET", "/openapi.json")).text
      assert.include(document, '"enum":["counting"]')
      assert.include(document, '"enum":["alpha_gateway","beta","gateway","codeberg","git","git_ssh","mcp_oauth"]')
      assert.include(document, '"enum":["codeberg"]')
      assert.notInclude(document, "x-reins-installed")
    })
  )

  it.effect("refuses a backend that it does not have to the embedding program, too", () =>
    Effect.gen(function* () {
      const { choose } = yield* Executors
      const error = yield* Effect.flip(choose("local"))
      assert.deepInclude({ ...error }, { code: "executor_unavailable", details: { backend: "local" } })
    })
  )
})

/** A program of somebody else, with the packages as they are published. */
const program = `
  import * as Embedded from "@reins/core/Embedded"
  import { HttpServer, Server } from "@reins/server"
  import { Effect, Layer } from "effect"
  const reins = Layer.provideMerge(HttpServer.layer({ port: 0, notice: 0 }), Embedded.layer({ dataDir: process.argv[1] }))
  const ask = Effect.gen(function* () {
    const { url } = yield* Server
    const answer = yield* Effect.promise(() => fetch(url + "/api/me"))
    console.log(answer.status, (yield* Effect.promise(() => answer.json())).error.code)
  })
  await Effect.runPromise(Effect.provide(ask, reins))
`

it.scopedLive("the built package serves the core of the program that imports it", () =>
  Effect.gen(function* () {
    const dataDir = yield* directory
    const { stdout } = yield* Effect.promise(() =>
      promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program, dataDir], {
        cwd: join(import.meta.dirname, ".."),
        timeout: 60_000
      })
    )
    assert.strictEqual(stdout.trim().split("\n").at(-1), "401 unauthenticated")
  })
)

/** One of several processes on a PostgreSQL database, put together of the core's entry points. */
const programOnPostgres = `
  import { CoreConfig } from "@reins/core/base/CoreConfig"
  import * as Core from "@reins/core/Core"
  import * as Embedded from "@reins/core/Embedded"
  import * as BootRecord from "@reins/core/placement/BootRecord"
  import { Projects } from "@reins/core/projects/Projects"
  import * as Postgres from "@reins/core/store/Postgres"
  import { Database } from "@reins/core/store/Storage"
  import { Effect, Layer, Redacted } from "effect"
  const [, dataDir, url] = process.argv
  const reins = Core.worker.pipe(
    Layer.provideMerge(Core.layerWith({ forges: Core.builtInForges, database: Postgres.layer(Redacted.make(url)) })),
    Layer.provideMerge(Layer.merge(CoreConfig.layer({ dataDir }), BootRecord.layer(dataDir, { alone: false })))
  )
  const work = Effect.gen(function* () {
    const { principal, workspaceId } = yield* Embedded.owner
    const { slug } = yield* (yield* Projects).create(principal, workspaceId, { slug: "mine", name: "Mine" })
    console.log((yield* Database).dialect, slug)
  })
  await Effect.runPromise(Effect.provide(work, reins))
`

it.scopedLive("the built core works on the PostgreSQL database of the program that imports it", () =>
  Effect.gen(function* () {
    const dataDir = yield* directory
    const url = Redacted.value(yield* migratedPostgresDatabase)
    const { stdout } = yield* Effect.promise(() =>
      promisify(execFile)(process.execPath, ["--input-type=module", "--eval", programOnPostgres, dataDir, url], {
        cwd: join(import.meta.dirname, ".."),
        timeout: 60_000
      })
    )
    assert.strictEqual(stdout.trim().split("\n").at(-1), "pg mine")
  })
)
