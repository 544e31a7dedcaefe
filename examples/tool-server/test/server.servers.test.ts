import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { gatewayKey, newCaller } from "@reins/testing/process/Caller"
import { startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, it } from "vitest"
import { script, startGateway } from "../../scripted-gateway/gateway.mjs"

const key = `canary-${randomUUID()}`

/** The example in a process of its own, and its address. */
const startTools = async (env: Readonly<Record<string, string>>) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../server.mjs")], {
    env: { PATH: process.env["PATH"], PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const ended = once(child, "exit")
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended])
  const url = /http:\S+/.exec(String(line))?.[0] ?? ""
  const end = async () => {
    child.kill("SIGTERM")
    await ended
  }
  return { code: child.exitCode, url, end }
}

it("agents of a project find a ticket, and close it once a person has allowed that", async () => {
  const gateway = await startGateway({ apiKey: gatewayKey })
  const directory = mkdtempSync(join(tmpdir(), "reins-tool-server-"))
  const tools = await startTools({ TICKETS_KEY: key })
  const server = await startServer({ dataDir: join(directory, "data") })
  try {
    assert.strictEqual((await fetch(tools.url, { method: "POST", body: "{}" })).status, 401)
    const caller = await newCaller(server, join(directory, "data"), gateway)
    const reins = caller.at(server)
    const { id: project_id } = await reins.projects.create({
      workspace_id: caller.workspaceId,
      slug: "shop",
      name: "Shop",
      spec: {
        tools: {
          mcp_servers: [
            {
              name: "tickets",
              url: tools.url,
              headers: { Authorization: { secret: "TICKETS_KEY", prefix: "Bearer " } },
              allow: ["find_ticket", "close_ticket"],
              permissions: { close_ticket: "ask" }
            }
          ]
        }
      }
    })
    await reins.projects.replaceSecret({ project_id, name: "TICKETS_KEY", secret: key })
    const { id: session_id } = await reins.sessions.create({
      workspace_id: caller.workspaceId,
      project_id,
      harness: { provider_id: "alpha", model: "scripted-1" }
    })
    const content = script(
      "Close ticket 7.",
      { tool: "find_ticket", args: { ticket: 7 } },
      { tool: "find_ticket", args: { ticket: 8 } },
      { tool: "close_ticket", args: { ticket: 7 } },
      { say: "It is closed." }
    )
    const { turn_id = "" } = await reins.messages.send({ session_id, content })
    const asked = await eventually("a person is asked", async () => {
      const { items } = await reins.interactions.list({ session_id, state: "pending" })
      return items[0]
    })
    assert.deepStrictEqual([asked.kind, asked.title], ["approval", "tickets: close_ticket"])
    await reins.interactions.answer({ interaction_id: asked.id, answer: "allow" })
    const turn = await reins.turns.wait({ turn_id })
    assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
    const results = gateway.requests.at(-1)?.messages.filter(({ role }) => role === "tool_result") ?? []
    assert.deepStrictEqual(
      results.map(({ text }) => /ignores quantities","state":"\w+|There is no ticket 8/.exec(text)?.[0]),
      ['ignores quantities","state":"open', "There is no ticket 8", 'ignores quantities","state":"closed']
    )
    assert.notInclude(JSON.stringify([gateway.requests, await reins.sessions.listEvents({ session_id })]), key)
  } finally {
    server.kill("SIGTERM")
    await server.ended
    await tools.end()
    await gateway.close()
    rmSync(directory, { recursive: true, force: true })
  }
}, 120_000)

it("the tools do not start without a key", async () => {
  assert.strictEqual((await startTools({})).code, 1)
})
