import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { gatewayKey, newCaller } from "@reins/testing/process/Caller"
import { startServer } from "@reins/testing/process/ServerProcess"
import { assert, it } from "vitest"
import { script, startGateway } from "../../scripted-gateway/gateway.mjs"

const run = promisify(execFile)

it("the example answers the calls of the agent, and prints the result", async () => {
  const gateway = await startGateway({ apiKey: gatewayKey })
  const directory = mkdtempSync(join(tmpdir(), "reins-functions-"))
  const server = await startServer({ dataDir: join(directory, "data") })
  try {
    const { apiKey, workspaceId } = await newCaller(server, join(directory, "data"), gateway)
    const task = script(
      "Triage ticket 7.",
      { tool: "lookup_ticket", args: { ticket: 7 } },
      { tool: "submit_result", args: { value: { priority: "high" }, summary: "A wrong total." } },
      { say: "It is urgent." }
    )
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, "../functions.mjs"), workspaceId, task], {
      env: { ...process.env, REINS_URL: server.url, REINS_API_KEY: apiKey, REINS_MODEL: "scripted-1" },
      timeout: 60_000
    })
    assert.include(stdout, "The agent asks for ticket 7\n")
    assert.include(stdout, "The turn succeeded: It is urgent.")
    assert.include(stdout, 'Result: {"priority":"high"}')
    const told = gateway.requests.at(-1)?.messages.filter(({ role }) => role === "tool_result") ?? []
    assert.include(told[0]?.text, "The total ignores quantities")
  } finally {
    server.kill("SIGTERM")
    await server.ended
    await gateway.close()
    rmSync(directory, { recursive: true, force: true })
  }
}, 120_000)
