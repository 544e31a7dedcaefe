// A small coding agent over the Agent Client Protocol: it asks the model of a gateway and runs the tools that the model calls, as the
// real agents do. A turn of it costs a tenth of a second of a processor where theirs cost five. Node starts a file of this form sooner than a module.
const { spawn } = require("node:child_process")
const { randomUUID } = require("node:crypto")
const { existsSync, mkdirSync, readFileSync, writeFileSync } = require("node:fs")
const { request } = require("node:http")
const { dirname, resolve } = require("node:path")
const { createInterface } = require("node:readline")

const { BASE_URL, HOME, MODEL, ON_ERROR, OPENCODE_CONFIG_CONTENT, PERMISSION, REINS_API_KEY, TOOLS, ...rest } =
  process.env
/** The commands of the agent need no key. */
const environment = { ...rest, HOME }
/** Installed in the place of opencode it is told what opencode is told, and keeps its sessions where opencode does. */
const asOpencode = OPENCODE_CONFIG_CONTENT && JSON.parse(OPENCODE_CONFIG_CONTENT)
const baseUrl = asOpencode ? asOpencode.provider.gateway.options.baseURL : BASE_URL
const model = asOpencode ? Object.keys(asOpencode.provider.gateway.models)[0] : MODEL
const store = `${HOME}/${asOpencode ? ".local/share/opencode/storage/" : ""}sessions.json`
mkdirSync(dirname(store), { recursive: true })
/** The directory and the conversation of each native session. */
const sessions = existsSync(store) ? JSON.parse(readFileSync(store, "utf8")) : {}
const keep = () => writeFileSync(store, JSON.stringify(sessions))

const send = (message) =>
  new Promise((done) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`, done))
const questions = new Map()
const ask = (method, params) =>
  new Promise((answer) => {
    const id = randomUUID()
    questions.set(id, answer)
    void send({ id, method, params })
  })

/** The words that were said to each session while it worked, and that no request to the model holds yet. A session that is idle has none. */
const steered = new Map()
let isCancelled = false
let stop = () => undefined

const runInShell = ({ command }, cwd) =>
  new Promise((done) => {
    const child = spawn("bash", ["-c", command], {
      cwd,
      env: environment,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"]
    })
    const output = []
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk))
    stop = () => process.kill(-child.pid, "SIGKILL")
    child.once("close", () => done(Buffer.concat(output).toString()))
  })

const write = ({ content, path }, cwd) => {
  const file = resolve(cwd, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  return `wrote ${path}`
}

/** Asks a person for the values of a form. */
const elicit = async (schema, _, sessionId) =>
  JSON.stringify(
    await ask("elicitation/create", { sessionId, mode: "form", message: "Which one?", requestedSchema: schema })
  )

/** Tells the steps that it means to take. */
const plan = async ({ entries }, _, sessionId) => {
  await send({ method: "session/update", params: { sessionId, update: { sessionUpdate: "plan", entries } } })
  return "planned"
}

/** Waits for a file that a test puts into the working tree. */
const fileAt = async (path) => {
  while (!existsSync(path)) await new Promise((looked) => setTimeout(looked, 20))
}

/** Asks for leave for any call, with messages about it before, behind the request, and once a file is there. */
const permit = async ({ after = [], before = [], later, toolCall }, cwd, sessionId) => {
  const tell = (update) => send({ method: "session/update", params: { sessionId, update } })
  for (const update of before) await tell(update)
  const asking = ask("session/request_permission", { sessionId, toolCall, options: permissions })
  for (const update of after) await tell(update)
  if (later) void fileAt(resolve(cwd, later.file)).then(() => tell(later.update))
  return JSON.stringify(await asking)
}

const tools = {
  permit: { kind: "think", takes: [], run: permit },
  plan: { kind: "think", takes: [], run: plan },
  elicit: { kind: "other", takes: [], run: elicit },
  bash: { kind: "execute", takes: ["command"], run: runInShell },
  write: { kind: "edit", takes: ["path", "content"], run: write }
}

const offered = Object.entries(tools).map(([name, { takes }]) => ({
  type: "function",
  function: {
    name,
    parameters: {
      type: "object",
      properties: Object.fromEntries(takes.map((key) => [key, { type: "string" }])),
      required: takes
    }
  }
}))

/** The servers of tools that each native session was told of; none unless the manifest says that the agent calls them. */
const servers = new Map()
let calls = 0

/** Asks a server of tools. Fails with its words. */
const askServer = async ({ headers, url }, method, params) => {
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
    body: JSON.stringify({ jsonrpc: "2.0", id: ++calls, method, params })
  })
  const text = await response.text()
  const line = text.split("\n").findLast((each) => each.startsWith("data: ")) ?? `data: ${text}`
  const { error, result } = JSON.parse(line.slice("data: ".length))
  if (result === undefined) throw new Error(error?.message ?? text)
  return result
}

/** The tools of the servers of a session, by the names that the model sees. */
const lent = new Map()
const listTools = async (sessionId) => {
  lent.clear()
  for (const server of servers.get(sessionId) ?? []) {
    const { tools } = await askServer(server, "tools/list", {})
    for (const tool of tools) lent.set(`${server.name}_${tool.name}`, { server, tool })
  }
}

const runLent = async ({ server, tool }, input, callId) => {
  const params = { name: tool.name, arguments: input, _meta: { callId } }
  const { content, isError } = await askServer(server, "tools/call", params)
  const shown = content.map(({ text, type }) => (type === "image" ? "<image>" : text))
  return `${isError ? "Error: " : ""}${shown.join("")}`
}

/** The gateway's answer. Fails with its status and its words when it refuses. */
const post = (body) =>
  new Promise((done, fail) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${REINS_API_KEY}` }
    const asking = request(`${baseUrl}/chat/completions`, { method: "POST", headers }, async (response) => {
      if (response.statusCode === 200) return done(response)
      const { error } = JSON.parse(Buffer.concat(await response.toArray()).toString())
      fail(new Error(`HTTP ${response.statusCode}: ${error.message}`))
    })
    asking.on("error", fail)
    stop = () => asking.destroy()
    asking.end(JSON.stringify(body))
  })

const lentOffered = () =>
  [...lent].map(([name, { tool }]) => ({
    type: "function",
    function: { name, description: tool.description, parameters: tool.inputSchema }
  }))

/** One answer of the model, told as it comes: its words, and the tools that it calls. */
const answerOf = async (messages, update) => {
  const said = { role: "assistant", content: "" }
  const chunk = (sessionUpdate, text) => update({ sessionUpdate, content: { type: "text", text } })
  const response = await post({ model, messages, tools: [...offered, ...lentOffered()], stream: true })
  let isAnswer = false
  for await (const line of createInterface({ input: response })) {
    if (!line.startsWith("data: {")) continue
    isAnswer = true
    const delta = JSON.parse(line.slice("data: ".length)).choices[0]?.delta ?? {}
    if (delta.reasoning_content) await chunk("agent_thought_chunk", delta.reasoning_content)
    if (delta.content) await chunk("agent_message_chunk", delta.content)
    said.content += delta.content ?? ""
    if (delta.tool_calls) said.tool_calls = delta.tool_calls.map(({ index, ...call }) => call)
  }
  if (!response.complete) throw new Error("The gateway broke off.")
  if (!isAnswer) throw new Error("The gateway answers with something else.")
  return said
}

/** As `answerOf`. An agent with `words` says an error as if the model had said it; one with `again` asks until it is cancelled. */
const answerOrWords = async (messages, update) => {
  for (;;) {
    try {
      return await answerOf(messages, update)
    } catch (error) {
      if (isCancelled || ON_ERROR === undefined) throw error
      if (ON_ERROR === "again") continue
      await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: `Error: ${error.message}` } })
      return { role: "assistant", content: error.message }
    }
  }
}

const permissions = [
  { optionId: "once", kind: "allow_once", name: "Allow once" },
  { optionId: "always", kind: "allow_always", name: "Always allow" },
  { optionId: "no", kind: "reject_once", name: "Reject" }
]

/** Runs a tool and gives back what it printed; nothing when a person forbids it. */
const runTool = async (call, { cwd, sessionId, update }) => {
  const own = lent.get(call.function.name)
  const { kind, run } = own
    ? { kind: "other", run: (input) => runLent(own, input, call.id) }
    : tools[call.function.name]
  const rawInput = JSON.parse(call.function.arguments)
  const toolCall = { toolCallId: call.id, title: call.function.name, kind, rawInput }
  await update({ sessionUpdate: "tool_call", ...toolCall, status: "pending" })
  if (PERMISSION === "ask" && run !== elicit && run !== permit) {
    const { outcome } = await ask("session/request_permission", { sessionId, toolCall, options: permissions })
    if (outcome.outcome !== "selected" || outcome.optionId === "no") return undefined
  }
  await update({ sessionUpdate: "tool_call_update", toolCallId: call.id, status: "in_progress" })
  const text = await run(rawInput, cwd, sessionId)
  const content = [{ type: "content", content: { type: "text", text } }]
  await update({ sessionUpdate: "tool_call_update", toolCallId: call.id, status: "completed", content })
  return text
}

/** Asks the model until it calls no more tools. */
const prompt = async ({ prompt, sessionId }) => {
  const { cwd, messages } = sessions[sessionId]
  const update = (update) => send({ method: "session/update", params: { sessionId, update } })
  await listTools(sessionId)
  messages.push({ role: "user", content: prompt.map(({ text, uri }) => text ?? uri).join("\n") })
  steered.set(sessionId, [])
  for (let calls = 1; ; calls++) {
    messages.push(...steered.get(sessionId).splice(0))
    keep()
    const said = await answerOrWords(messages, update)
    messages.push(said)
    const usage = { inputTokens: 1000 * calls, outputTokens: 20 * calls, cachedReadTokens: 100 * calls }
    if (said.tool_calls === undefined) {
      if (steered.get(sessionId).length > 0) continue
      return { stopReason: "end_turn", usage }
    }
    for (const call of said.tool_calls) {
      const content = await runTool(call, { cwd, sessionId, update })
      if (isCancelled) throw new Error("The tool was stopped.")
      if (content === undefined) return { stopReason: "end_turn", usage }
      messages.push({ role: "tool", tool_call_id: call.id, content })
    }
  }
}

const known = (sessionId) => {
  if (sessions[sessionId] === undefined) throw new Error("no such session")
  return {}
}

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: "small", version: "1.0.0" },
    ...((TOOLS || asOpencode) && { agentCapabilities: { mcpCapabilities: { http: true } } })
  }),
  "session/new": ({ cwd, mcpServers }) => {
    const sessionId = randomUUID()
    servers.set(sessionId, mcpServers)
    sessions[sessionId] = { cwd, messages: [] }
    keep()
    return { sessionId }
  },
  "session/resume": ({ mcpServers, sessionId }) => {
    servers.set(sessionId, mcpServers)
    return known(sessionId)
  },
  "session/prompt": async (params) => {
    isCancelled = false
    try {
      return await prompt(params)
    } catch (error) {
      if (isCancelled) return { stopReason: "cancelled" }
      throw error
    } finally {
      steered.delete(params.sessionId)
      keep()
    }
  },
  "_session/steering": ({ _meta, prompt, sessionId }) => {
    const heard = steered.get(sessionId)
    if (heard === undefined) return { outcome: _meta?.steering?.idleBehavior ?? "startedNewTurn" }
    heard.push({ role: "user", content: prompt.map(({ text, uri }) => text ?? uri).join("\n") })
    return { outcome: "injected" }
  },
  "session/cancel": () => {
    isCancelled = true
    stop()
  }
}

createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const { id, method, params, result } = JSON.parse(line)
    if (method === undefined) return questions.get(id)?.(result)
    try {
      const answer = await methods[method](params)
      if (id !== undefined) await send({ id, result: answer })
    } catch (error) {
      await send({ id, error: { code: -32603, message: "Internal error", data: { details: error.message } } })
    }
  })
  .on("close", () => process.exit(0))
