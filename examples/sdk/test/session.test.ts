import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { gatewayKey, newCaller } from "@reins/testing/process/Caller"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { afterEach, assert, beforeEach, it } from "vitest"
import { makeRemote } from "../../demo/world.mjs"
import { type Gateway, script, startGateway } from "../../scripted-gateway/gateway.mjs"

const run = promisify(execFile)
const root = join(import.meta.dirname, "../../..")
let gateway: Gateway
let directory: string
let server: ServerProcess

beforeEach(async () => {
  gateway = await startGateway({ apiKey: gatewayKey })
  directory = mkdtempSync(join(tmpdir(), "reins-sdk-"))
  server = await startServer({
    dataDir: join(directory, "data"),
    env: {
      REINS_ALLOW_LOCAL_REPOSITORIES: "true",
      REINS_CACHE_DIR: cacheWithSmallAgent(directory),
      REINS_LOG_LEVEL: "info"
    }
  })
})
afterEach(async () => {
  server.kill("SIGTERM")
  await server.ended
  await gateway.close()
  rmSync(directory, { recursive: true, force: true })
})

it("the example works with an account and a key made on the command line of a running server", async () => {
  const { apiKey, at, workspaceId: workspace_id } = await newCaller(server, join(directory, "data"), gateway)
  const remote = makeRemote(directory)
  const project = await at(server).projects.create({
    workspace_id,
    slug: "cart",
    name: "Cart",
    spec: { repository: { url: remote.url }, harness: { provider_id: "alpha", model: "scripted-1" } }
  })
  const write = { tool: "write", path: "NOTES.md", content: "Written through the SDK.\n" }
  const { stdout } = await run(
    process.execPath,
    [join(root, "examples/sdk/session.mjs"), project.id, script("Take a note.", write, { say: "Done." })],
    { env: { ...process.env, REINS_URL: server.url, REINS_API_KEY: apiKey }, timeout: 60_000 }
  )
  assert.include(stdout, "+Written through the SDK.")
  assert.match(remote.log(), /reins\/sess_/)
  // Neither the credential of the gateway nor the API key is in the log of the server.
  assert.isNotEmpty(server.log())
  assert.notInclude(server.log(), gatewayKey)
  assert.notInclude(server.log(), apiKey)
}, 120_000)
