import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { functionsOf, type Reins } from "@reins/client"
import { type Caller, gatewayKey, newCaller } from "@reins/testing/process/Caller"
import { steadyPort } from "@reins/testing/process/Ports"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { type Gateway, script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { afterEach, assert, beforeEach, describe, it } from "vitest"

let gateway: Gateway
let directory: string
let port: number
let server: ServerProcess
let caller: Caller

const start = async () => {
  server = await startServer({ dataDir: join(directory, "data"), args: ["--port", String(port)] })
}

beforeEach(async () => {
  gateway = await startGateway({ apiKey: gatewayKey })
  directory = mkdtempSync(join(tmpdir(), "reins-functions-"))
  port = await steadyPort()
  await start()
  caller = await newCaller(server, join(directory, "data"), gateway)
}, 60_000)
afterEach(async () => {
  server.kill("SIGTERM")
  await server.ended
  await gateway.close()
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
})

const input = { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] }
const lookUp = (ticket: number) => ({ tool: "lookup_ticket", args: { ticket } })

/** The words that the model was told by tools in its newest request. */
const toldByTools = (): ReadonlyArray<string> =>
  (gateway.requests.at(-1)?.messages ?? []).filter(({ role }) => role === "tool_result").map(({ text }) => text)

/** The turn once it has come to rest. */
const rested = (reins: Reins, turn_id: string) => reins.turns.wait({ turn_id })

describe("the functions of a program, called by opencode", () => {
  it("a run answers the calls of its turn, and a function that throws tells the model why", async () => {
    const reins = caller.at(server)
    const session_id = await caller.newSession(reins)
    const inputs: Array<unknown> = []
    const run = reins.run({
      session_id,
      content: script(
        "Triage ticket 7.",
        lookUp(7),
        lookUp(8),
        { tool: "submit_result", args: { value: { ok: true }, summary: "Triaged." } },
        { say: "Done." }
      ),
      result_schema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
      tools: {
        lookup_ticket: {
          description: "Looks a ticket up.",
          input,
          run: async (given: { readonly ticket: number }, { attempt }) => {
            inputs.push([given, attempt])
            if (given.ticket === 8) throw new Error("There is no ticket 8.")
            return { title: "The cart is wrong" }
          }
        }
      }
    })
    const { result, turn } = await run.final()
    assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
    assert.deepStrictEqual(result, { ok: true })
    assert.deepStrictEqual(inputs, [
      [{ ticket: 7 }, 1],
      [{ ticket: 8 }, 1]
    ])
    const told = toldByTools()
    assert.include(told[0], '{"title":"The cart is wrong"}')
    assert.include(told[1], "There is no ticket 8.")
    const { items } = await reins.toolCalls.list({ turn_id: turn.id })
    assert.deepStrictEqual(items.map(({ state, tool }) => `${tool} ${state}`).reverse(), [
      "lookup_ticket succeeded",
      "lookup_ticket failed",
      "submit_result succeeded"
    ])
  }, 120_000)

  it("a server that is killed in a call keeps it: the function runs once, and the retry takes its answer", async () => {
    const reins = caller.at(server)
    const session_id = await caller.newSession(reins)
    const runs: Array<() => void> = []
    const tools = {
      lookup_ticket: {
        description: "Looks a ticket up.",
        input,
        run: () => new Promise((resolve) => runs.push(() => resolve("It is about the cart.")))
      }
    }
    const ended = new AbortController()
    const serving = reins.serveTools({ workspace_id: caller.workspaceId, tools, signal: ended.signal })
    const sent = await reins.messages.send({
      session_id,
      content: script("Triage ticket 7.", lookUp(7), { say: "Done." }),
      tools: functionsOf(tools)
    })
    await eventually("the function is called", () => runs.length === 1)
    server.kill("SIGKILL")
    await server.ended
    await start()
    const turn_id = sent.turn_id ?? ""
    const lost = await rested(reins, turn_id)
    assert.deepStrictEqual([lost.state, lost.reason], ["interrupted", "service_restart"])
    runs[0]?.()
    const answered = async () => (await reins.interactions.list({ session_id })).items[0]?.state === "answered"
    await eventually("the answer is stored", answered)
    const retry = await reins.turns.retry({ turn_id })
    const turn = await rested(reins, retry.id)
    assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
    assert.include(toldByTools().at(-1), "It is about the cart.")
    assert.lengthOf(runs, 1)
    const { items } = await reins.interactions.list({ session_id })
    assert.lengthOf(items, 1)
    ended.abort()
    await serving
  }, 180_000)
})
