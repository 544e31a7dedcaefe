import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { afterEach, assert, beforeEach, it } from "vitest"
import { type Gateway, startGateway } from "../../../examples/scripted-gateway/gateway.mjs"
import { killServers, newKey, startServer } from "./ServerProcess.js"

let dataDir: string
let gateway: Gateway

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "reins-chaos-"))
  gateway = await startGateway()
})
afterEach(async () => {
  killServers()
  await gateway.close()
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

it("a turn whose agent was never started when the server was killed is worked by the next server", async () => {
  const first = await startServer({ dataDir, failpoint: "turn.begun" })
  const apiKey = newKey(dataDir)
  const before = new Reins({ baseUrl: first.url, apiKey })
  const workspace_id = (await before.accounts.me()).workspaces[0]?.id ?? ""
  await before.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: gateway.url, api_key: "k" }
  })
  const session = await before.sessions.create({ workspace_id, harness: { provider_id: "alpha", model: "scripted-1" } })
  const sent = await before.messages.send({ session_id: session.id, content: 'Hello. SCRIPT:[{"say":"Here I am."}]' })
  assert.strictEqual((await first.ended).signal, "SIGKILL")

  const second = await startServer({ dataDir })
  const after = new Reins({ baseUrl: second.url, apiKey })
  const turn = await after.turns.wait({ turn_id: sent.turn_id ?? "" })
  assert.strictEqual(turn.state, "succeeded")
})
