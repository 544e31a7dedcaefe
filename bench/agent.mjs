// An agent without a model, so that only our own time is measured. It speaks the Agent Client Protocol, answers at once, and writes down the
// times of its prompt, its answer and its stop. It makes as many tool calls before each answer as it is told, and as many calls
// of a tool of the service, with the time of each, and with the pauses between them that its prompt names. With `open` it calls a function as
// often as its prompt says, all at once. `node agent.mjs <file> [calls] [lent] [open]`
import { appendFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"
import { now } from "./clock.mjs"

const [, , marks, calls = "0", lent = "0", open] = process.argv
/** The server of tools that the session was told of. */
let tools
let made = 0
const mark = (name) => appendFileSync(marks, `${name} ${now()}\n`)
const send = (message) =>
  new Promise((resolve) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`, resolve))

/** A command that prints a line. */
const callTool = async (sessionId) => {
  const toolCallId = `call-${++made}`
  const update = (update) =>
    send({ method: "session/update", params: { sessionId, update: { toolCallId, ...update } } })
  const rawInput = { command: "echo done" }
  await update({ sessionUpdate: "tool_call", title: "bash", kind: "execute", rawInput, status: "pending" })
  await update({ sessionUpdate: "tool_call_update", status: "in_progress" })
  const content = [{ type: "content", content: { type: "text", text: "done\n" } }]
  await update({ sessionUpdate: "tool_call_update", status: "completed", content })
}

/** A call of a function, which somebody answers at some time. */
const callFunction = async (ticket) => {
  const answer = await post(++made, { name: "lookup_ticket", arguments: { ticket } })
  if (!answer.includes("Found.")) throw new Error(answer)
}

/** Keeps its connection, and costs less than `fetch` beside the service. */
const agent = new Agent({ keepAlive: true })

/** Calls a tool of the service. */
const post = (id, params) =>
  new Promise((resolve, reject) => {
    const given = Object.fromEntries(tools.headers.map(({ name, value }) => [name, value]))
    const headers = { ...given, "content-type": "application/json", accept: "application/json, text/event-stream" }
    const asked = request(tools.url, { agent, method: "POST", headers }, (response) => {
      let answer = ""
      response.setEncoding("utf8")
      response.on("data", (piece) => (answer += piece)).on("end", () => resolve(answer))
    })
    asked.on("error", reject).end(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }))
  })

/** A call of a tool of the service that answers at once. */
const callLent = async (number) => {
  const begun = now()
  const answer = await post(number, { name: "wait", arguments: { delegation_ids: [], seconds: 0 } })
  if (!answer.includes("pending")) throw new Error(answer)
  appendFileSync(marks, `lent ${now() - begun}\n`)
}

/** Calls one after another, with pauses of about that length, as a model that thinks makes them. */
const callInTurn = async (pauseMs) => {
  for (let call = 0; call < Number(lent); call++) {
    if (pauseMs > 0) await setTimeout(pauseMs * (0.5 + Math.random()))
    await callLent(++made)
  }
}

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: "scripted", version: "1.0.0" },
    agentCapabilities: {
      loadSession: true,
      sessionCapabilities: { resume: {} },
      ...(lent !== "0" && { mcpCapabilities: { http: true } })
    }
  }),
  "session/new": ({ mcpServers }) => {
    tools = mcpServers[0]
    return { sessionId: "s1" }
  },
  "session/resume": ({ mcpServers }) => {
    tools = mcpServers[0]
    return {}
  },
  "session/prompt": async ({ prompt, sessionId }) => {
    mark("prompted")
    for (let call = 0; call < Number(calls); call++) await callTool(sessionId)
    const wanted = Number(/Call (\d+)\./.exec(prompt[0]?.text)?.[1])
    if (open !== undefined) await Promise.all(Array.from({ length: wanted }, (_, ticket) => callFunction(ticket)))
    else if (tools !== undefined) await callInTurn(Number(/Pause (\d+) ms\./.exec(prompt[0]?.text)?.[1] ?? 0))
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Done." } }
    await send({ method: "session/update", params: { sessionId, update } })
    return { stopReason: "end_turn", usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 } }
  }
}

createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const known = methods[method]
    if (known === undefined) return send({ id, error: { code: -32601, message: "Method not found" } })
    const result = await known(params)
    if (method === "session/prompt") mark("answered")
    await send({ id, result })
  })
  .on("close", () => {
    mark("told")
    process.exit(0)
  })
