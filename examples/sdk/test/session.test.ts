import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Reins } from "@reins/client"
import { afterEach, assert, beforeEach, it } from "vitest"
import { makeRemote, startServer } from "../../demo/world.mjs"
import { type Gateway, startGateway } from "../../scripted-gateway/gateway.mjs"

const run = promisify(execFile)
const root = join(import.meta.dirname, "../../..")
const cli = join(root, "packages/server/dist/main.js")
let gateway: Gateway
let directory: string
let server: Awaited<ReturnType<typeof startServer>>

beforeEach(async () => {
  gateway = await startGateway({ apiKey: "canary-sdk-key-7Hq2" })
  directory = mkdtempSync(join(tmpdir(), "reins-sdk-"))
  server = await startServer(join(directory, "data"))
})
afterEach(async () => {
  await server.stop()
  await gateway.close()
  rmSync(directory, { recursive: true, force: true })
})

it("the example works with an account and a key made on the command line of a running server", async () => {
  const env = { ...process.env, REINS_PASSWORD: "correct horse battery staple" }
  const dataDir = ["--data-dir", join(directory, "data")]
  await run(process.execPath, [cli, "accounts", "create", "--email", "sdk@example.com", ...dataDir], { env })
  const made = await run(
    process.execPath,
    [cli, "keys", "create", "--email", "sdk@example.com", "--name", "sdk", ...dataDir],
    { env }
  )
  const apiKey = /rk_[0-9A-Za-z]{49}/.exec(made.stdout)?.[0] ?? ""
  const reins = new Reins({ baseUrl: server.url, apiKey })
  const workspace_id = (await reins.accounts.me()).workspaces[0]?.id ?? ""
  await reins.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "scripted",
    credential: { base_url: gateway.url, api_key: "canary-sdk-key-7Hq2" }
  })
  const remote = makeRemote(directory)
  const project = await reins.projects.create({
    workspace_id,
    slug: "cart",
    name: "Cart",
    spec: { repository: { url: remote.url }, harness: { provider_id: "alpha", model: "scripted-1" } }
  })
  const steps = [{ tool: "write", path: "NOTES.md", content: "Written through the SDK.\n" }, { say: "Done." }]
  const { stdout } = await run(
    process.execPath,
    [join(root, "examples/sdk/session.mjs"), project.id, `Take a note. SCRIPT:${JSON.stringify(steps)}`],
    { env: { ...process.env, REINS_URL: server.url, REINS_API_KEY: apiKey }, timeout: 60_000 }
  )
  assert.include(stdout, "+Written through the SDK.")
  assert.match(remote.log(), /reins\/sess_/)
  // Neither the credential of the gateway nor the API key is in the log of the server.
  assert.isNotEmpty(server.log())
  assert.notInclude(server.log(), "canary-sdk-key-7Hq2")
  assert.notInclude(server.log(), apiKey)
}, 120_000)
