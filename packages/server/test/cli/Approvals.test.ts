import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Reins } from "@reins/client"
import * as Embedded from "@reins/core/Embedded"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { load } from "@reins/server/Config"
import { serverLayer } from "@reins/server/cli/Serve"
import { Server } from "@reins/server/Server"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { Context, Effect, Layer } from "effect"
import { script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { newCaller, quiet } from "../Service.js"
import { type At, keys, makeProject, reinsAt, terminal } from "./Cli.js"

/** A person with a project, at a service whose alpha asks before it uses a tool. */
class World extends Context.Tag("@reins/server/test/cli/World")<
  World,
  { readonly at: At; readonly client: Reins; readonly workspaceId: string }
>() {}

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-approvals-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
)

const service = Layer.unwrapScoped(
  Effect.gen(function* () {
    const directory = yield* temporary
    const config = yield* load({ port: "0", rate_limit: "off" }, {}, directory)
    const core = { dataDir: join(directory, "data"), allowLocalRepositories: true, allowPrivateHosts: ["127.0.0.1"] }
    const gateway = yield* Effect.acquireRelease(
      Effect.promise(() => startGateway()),
      ({ close }) => Effect.promise(close)
    )
    const world = Layer.effect(
      World,
      Effect.gen(function* () {
        const { url } = yield* Server
        const { key } = yield* Effect.orDie(newCaller())
        const client = new Reins({ baseUrl: url, apiKey: key.secret })
        const { folder } = makeProject(directory)
        const workspaceId = yield* Effect.promise(async () => {
          const workspace_id = (await client.accounts.me()).workspaces[0]?.id ?? ""
          const credential = { base_url: gateway.url, api_key: "key" }
          await client.connections.create({ workspace_id, kind: "alpha_gateway", label: "g", credential })
          return workspace_id
        })
        const env = { REINS_URL: url, REINS_API_KEY: key.secret, XDG_CONFIG_HOME: directory, HOME: directory }
        return World.of({ at: { cwd: folder, env }, client, workspaceId })
      })
    )
    return world.pipe(
      Layer.provideMerge(serverLayer(config, { notice: 0 })),
      Layer.provideMerge(Embedded.layer(core, askingAgents("supported")))
    )
  })
).pipe(Layer.provide([quiet, PasswordCost.layerTest]))

const message = script("Do it.", { tool: "write", path: "asked.txt", content: "yes\n" }, { say: "All done." })
const run = ["run", message, "--model", "scripted-1"]

layer(service, { excludeTestServices: true })("what an agent asks", (it) => {
  it.effect("is asked on the terminal, and the answer reaches the agent", () =>
    Effect.gen(function* () {
      const { at } = yield* World
      const { status, text } = yield* Effect.promise(async () => {
        const shown = terminal(at, run)
        await shown.until(/The agent asks to: write/)
        await shown.until(/Reject/)
        shown.type(keys.enter)
        await shown.until(/\+yes/)
        await shown.until(/Deliver this as a branch/)
        shown.type("n")
        return shown.finished
      })
      assert.strictEqual(status, 0, text)
    })
  )

  it.effect("is taken from the terminal when somebody else has answered", () =>
    Effect.gen(function* () {
      const { at, client, workspaceId } = yield* World
      const { status, text } = yield* Effect.promise(async () => {
        const shown = terminal(at, run)
        await shown.until(/The agent asks to: write/)
        const [session] = (await client.sessions.list({ workspace_id: workspaceId, limit: 1 })).items
        const { items } = await client.interactions.list({ session_id: session?.id ?? "", state: "pending" })
        await client.interactions.answer({ interaction_id: items[0]?.id ?? "", answer: "once" })
        await shown.until(/Deliver this as a branch/)
        shown.type("n")
        return shown.finished
      })
      assert.strictEqual(status, 0, text)
      assert.notInclude(text, "The answer was not taken")
    })
  )

  it.effect("is Ctrl-C of the turn when it is answered so", () =>
    Effect.gen(function* () {
      const { at } = yield* World
      const { status, text } = yield* Effect.promise(async () => {
        const shown = terminal(at, run)
        await shown.until(/The agent asks to: write/)
        shown.type(keys.interrupt)
        return shown.finished
      })
      assert.strictEqual(status, 130, text)
      assert.include(text, "The turn was cancelled.")
    })
  )

  it.effect("is allowed with --approve, and refused where there is nobody to ask", () =>
    Effect.gen(function* () {
      const { at } = yield* World
      const approved = yield* Effect.promise(() => reinsAt(at, [...run, "--approve"]))
      assert.strictEqual(approved.status, 0, approved.stderr)
      assert.include(approved.stdout, "+yes")
      assert.match(approved.stderr, /^\? The agent asks to: write -> Allow once$/m)
      const alone = yield* Effect.promise(() => reinsAt(at, run))
      assert.strictEqual(alone.status, 0, alone.stderr)
      assert.match(alone.stderr, /^\? The agent asks to: write -> Reject \(no terminal to ask; --approve allows it\)$/m)
      assert.notInclude(alone.stdout, "+yes")
    })
  )
})
