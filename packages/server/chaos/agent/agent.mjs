// An agent without a model: it speaks the Agent Client Protocol and does what the script in the last prompt says, as the real agents do
// with the scripted gateway. It costs a tenth of a second where they cost five.
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { extractScript } from "../../../../examples/scripted-gateway/script.mjs"
import { conflictSteps } from "./conflict.mjs"

const store = join(process.env.HOME, "sessions.json")
/** The directory that each native session works in. */
const sessions = existsSync(store) ? JSON.parse(readFileSync(store, "utf8")) : {}
const send = (message) =>
  new Promise((done) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`, done))

let isCancelled = false
let stop = () => undefined
/** It has answered all that it was asked, and was asked something. */
let isDone = false

/** Runs a command of the shell in the workspace and gives back what it printed. A cancellation ends it. */
const run = (cmd, cwd) =>
  new Promise((done) => {
    const child = spawn("bash", ["-c", cmd], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] })
    const output = []
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk))
    stop = () => process.kill(-child.pid, "SIGKILL")
    child.once("exit", () => done(Buffer.concat(output).toString()))
  })

const tools = {
  bash: ({ cmd }, cwd) => run(cmd, cwd),
  write: ({ content, path }, cwd) => {
    mkdirSync(dirname(resolve(cwd, path)), { recursive: true })
    writeFileSync(resolve(cwd, path), content)
    return ""
  }
}

/** The servers of tools that each native session was told of. */
const servers = new Map()
let calls = 0

/** Calls a tool that a server lends, and gives back its words. */
const callLent = async ({ headers, url }, name, args) => {
  const asking = new AbortController()
  stop = () => asking.abort()
  const response = await fetch(url, {
    method: "POST",
    signal: asking.signal,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
      ...Object.fromEntries(headers.map(({ name, value }) => [name, value]))
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++calls, method: "tools/call", params: { name, arguments: args } })
  })
  const text = await response.text()
  const line = text.split("\n").findLast((each) => each.startsWith("data: ")) ?? `data: ${text}`
  const { error, result } = JSON.parse(line.slice("data: ".length))
  if (result === undefined) throw new Error(error?.message ?? text)
  return result.content.map(({ text }) => text).join("")
}

/** Runs a tool of its own, or one of the server that the session was told of. */
const runTool = (step, cwd, sessionId) => {
  const own = tools[step.tool]
  if (own !== undefined) return own(step, cwd)
  const lent = servers.get(sessionId) ?? []
  // A tool of a project's server has the name that opencode shows its model.
  const named = lent.find(({ name }) => step.tool.startsWith(`${name}_`))
  const server = named ?? lent[0]
  if (server === undefined) throw new Error(`There is no tool ${step.tool}.`)
  return callLent(server, named === undefined ? step.tool : step.tool.slice(named.name.length + 1), step.args)
}

const takeStep = async (step, sessionId, update) => {
  if (step.hang === true)
    return new Promise((done) => {
      stop = done
    })
  if (step.tool === undefined)
    return update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: step.say } })
  const toolCallId = randomUUID()
  const { tool, ...rawInput } = step
  const call = { toolCallId, title: tool, kind: tool === "bash" ? "execute" : "edit", rawInput }
  await update({ sessionUpdate: "tool_call", ...call, status: "in_progress" })
  const text = await runTool(step, sessions[sessionId], sessionId)
  await update({
    sessionUpdate: "tool_call_update",
    toolCallId,
    status: "completed",
    content: [{ type: "content", content: { type: "text", text } }]
  })
}

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: "scripted", version: "1.0.0" },
    agentCapabilities: { loadSession: true, mcpCapabilities: { http: true } }
  }),
  "session/new": ({ cwd, mcpServers }) => {
    const sessionId = randomUUID()
    servers.set(sessionId, mcpServers)
    sessions[sessionId] = cwd
    writeFileSync(store, JSON.stringify(sessions))
    return { sessionId }
  },
  "session/load": ({ mcpServers, sessionId }) => {
    servers.set(sessionId, mcpServers)
    if (sessions[sessionId] === undefined) throw new Error("no such session")
    return {}
  },
  "session/prompt": async ({ prompt, sessionId }) => {
    isCancelled = false
    isDone = false
    const text = prompt.map((block) => block.text ?? "").join("\n")
    const steps = extractScript(text) ??
      conflictSteps(text) ?? [{ say: "This agent follows a script, and the prompt has none." }]
    const update = (update) => send({ method: "session/update", params: { sessionId, update } })
    for (const step of steps) {
      await takeStep(step, sessionId, update)
      if (isCancelled) return { stopReason: "cancelled" }
    }
    return { stopReason: "end_turn", usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 } }
  },
  "session/cancel": () => {
    isCancelled = true
    stop()
  }
}

createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const { id, method, params } = JSON.parse(line)
    try {
      const result = await methods[method](params)
      if (id !== undefined) await send({ id, result })
      isDone = method === "session/prompt"
    } catch (error) {
      await send({ id, error: { code: -32603, message: "Internal error", data: { details: String(error) } } })
    }
  })
  // In the midst of its work it goes on without its server, as some agents do: the next server has to end it.
  .on("close", () => (isDone ? process.exit(0) : setInterval(() => undefined, 1000)))
