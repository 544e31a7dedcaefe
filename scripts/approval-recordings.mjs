// Records how real agents ask for leave: an edit, a command, a fetch and the call of a server's tool, each in a session of its own, with a model that
// follows a script. Writes the agents that are named into packages/testing/recordings/acp/approvals.json. Install them before, and take the Node that
// they ask for:
//   reins harnesses enable claude && reins harnesses install claude
//   node scripts/approval-recordings.mjs claude
// Agents of which some part cannot be recorded stay as they are: look at the difference before you keep it.
import { execFileSync, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { script, startGateway } from "../examples/scripted-gateway/gateway.mjs"

const target = new URL("../packages/testing/recordings/acp/approvals.json", import.meta.url)
const url = "https://example.com/page"
const edit = (path) => [
  { tool: "read", path },
  { tool: "edit", path, old: "let a = 1", new: "let a = 2" }
]
const patch = "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-let a = 1\n+let a = 2\n*** End Patch"
const noFetch = "The agent offers its model no tool that fetches a page."

/** The settings under which each agent asks, and the names of its tools. What its manifest says for `ask` needs no word here. */
const agents = {
  alpha: { replaces: [['"*":"allow"', '"*":"ask"']], fetch: ["webfetch", { url, format: "text" }] },
  beta: { fetch: noFetch },
  claude: { environment: { ENABLE_TOOL_SEARCH: "false" }, fetch: ["WebFetch", { url, prompt: "Read it" }] },
  cline: {
    fetch: ["fetch_web_content", { requests: [{ url, prompt: "Read it" }] }],
    mcp: "The agent takes no servers of tools over the protocol."
  },
  "codex-zed": {
    replaces: [
      ['approval_policy = "never"', 'approval_policy = "untrusted"'],
      ["danger-full-access", "read-only"]
    ],
    edit: () => [{ tool: "bash", cmd: `apply_patch <<'EOF'\n${patch}\nEOF` }],
    fetch: noFetch
  },
  copilot: { environment: { COPILOT_OFFLINE: undefined }, fetch: ["web_fetch", { url }] },
  gemini: {
    replaces: [["--approval-mode=yolo", "--approval-mode=default"]],
    // It trusts the servers that it is told of there.
    drops: "--allowed-mcp-server-names",
    fetch: ["web_fetch", { prompt: `Read ${url}` }]
  },
  goose: { environment: { GOOSE_MODE: "approve" }, fetch: noFetch },
  opencode: { fetch: ["webfetch", { url, format: "text" }] },
  qwen: {
    replaces: [['"approvalMode":"yolo"', '"approvalMode":"default"']],
    fetch: ["web_fetch", { url, prompt: "Read it" }]
  }
}

const manifestOf = (id) => {
  const own = new URL(`../manifests/${id}.json`, import.meta.url)
  const optional = new URL(`../manifests/optional/${id}.json`, import.meta.url)
  return JSON.parse(readFileSync(existsSync(own) ? own : optional, "utf8"))
}

const executableOf = ({ agent, install }) => {
  const cache = process.env.REINS_CACHE_DIR ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "reins")
  const folder = readdirSync(join(cache, "harnesses")).find((name) =>
    name.startsWith(`${agent.name}-${agent.version}-linux-x64`)
  )
  if (folder === undefined) throw new Error(`${agent.name} ${agent.version} is not installed in ${cache}.`)
  const { executable } = install.platforms?.find(({ id }) => id === "linux-x64") ?? install
  return join(cache, "harnesses", folder, executable ?? install.executable)
}

/** A working tree with a file to edit, and a home. */
const makePlace = () => {
  const root = mkdtempSync(join(homedir(), ".reins-recording-"))
  const [home, tree] = [join(root, "home"), join(root, "tree")]
  mkdirSync(join(home, "tmp"), { recursive: true })
  mkdirSync(join(tree, "src"), { recursive: true })
  writeFileSync(join(tree, "src/a.ts"), "let a = 1\nlet b = 2\n")
  writeFileSync(join(tree, "package.json"), '{"scripts":{"test":"echo tested"}}\n')
  const git = (...args) => execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: tree })
  git("init", "--quiet")
  git("add", ".")
  git("commit", "--quiet", "--message", "Begin")
  return { root, home, tree }
}

const tool = {
  name: "close",
  description: "Closes a ticket.",
  inputSchema: {
    type: "object",
    properties: { id: { type: "number" }, reason: { type: "string" } },
    required: ["id"]
  },
  _meta: { "anthropic/alwaysLoad": true }
}

const serverResults = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "tickets", version: "1" }
  }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": () => ({ content: [{ type: "text", text: "closed" }] }),
  ping: () => ({})
}

/** A server of the Model Context Protocol with one tool. */
const startTools = async () => {
  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end()
    const { id, method, params } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    if (id === undefined) return void response.writeHead(202).end()
    const result = serverResults[method]?.(params)
    const answer = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result }
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }))
  })
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening))
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, close: () => server.close() }
}

const textsIn = (value, change) => {
  if (typeof value === "string") return change(value)
  if (Array.isArray(value)) return value.map((each) => textsIn(each, change))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [change(name), textsIn(each, change)]))
}

/** Starts an agent as its manifest does, in the mode in which it asks. */
const startAgent = ({ credential, runtime }, { drops, environment = {}, replaces = [] }, { gateway, place }) => {
  const values = {
    node: process.execPath,
    executable: executableOf(runtime),
    home: place.home,
    model: "scripted-1",
    "secret.api_key": "k",
    "connection.base_url": credential.protocols?.[0] === "gemini" ? gateway.geminiUrl : gateway.url,
    "connection.root": `http://127.0.0.1:${gateway.port}`,
    tool_servers: "tickets"
  }
  for (const [name, value] of Object.entries(runtime.launch.permissions?.ask ?? {}))
    values[`permissions.${name}`] = value
  const render = (text) => {
    const rendered = text
      .replace(/\{\{json ([\w.]+)(?:\|[^}]*)?\}\}/g, (_, name) => JSON.stringify(values[name] ?? ""))
      .replace(/\{\{([\w.]+)(?:\|[^}]*)?\}\}/g, (_, name) => values[name] ?? "")
    return replaces.reduce((changed, [from, to]) => changed.replaceAll(from, to), rendered)
  }
  const { launch } = runtime
  const [profile] = launch.profiles
  for (const { content, path } of profile.files ?? []) {
    mkdirSync(dirname(join(place.home, path)), { recursive: true })
    writeFileSync(join(place.home, path), render(content))
  }
  const asText = (value) =>
    replaces.reduce(
      (changed, [from, to]) => changed.replaceAll(from, to),
      typeof value === "string" ? value : JSON.stringify(value)
    )
  const rendered = Object.entries({ ...launch.environment, ...profile.environment }).map(([name, value]) => [
    name,
    asText(textsIn(value, render))
  ])
  const args = launch.args.filter((arg) => drops === undefined || !arg.startsWith(drops))
  return spawn(render(launch.command), args.map(render), {
    cwd: place.tree,
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
    env: {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: place.home,
      TMPDIR: join(place.home, "tmp"),
      ...Object.fromEntries(rendered),
      ...environment
    }
  })
}

/** The time after which an agent has told all that it tells of a call before it has the answer, in milliseconds. */
const answerMs = 1500
const longestMs = 120_000

/** Talks to an agent, allows whatever it asks for, and notes the messages about its tools. */
const talk = (child) => {
  const waiting = new Map()
  const noted = []
  let next = 0
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  const allow = (id, { options }) => {
    noted.push({ answered: true })
    const { optionId } = options.find(({ kind }) => kind === "allow_once") ?? options[0]
    send({ id, result: { outcome: { outcome: "selected", optionId } } })
  }
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (!line.startsWith("{")) return
    const { error, id, method, params, result } = JSON.parse(line)
    if (method === undefined) return waiting.get(id)?.({ error, result })
    if (method === "session/update" && /^tool_call/.test(params.update.sessionUpdate))
      noted.push({ update: params.update })
    else if (method === "session/request_permission") {
      noted.push({ asked: params })
      setTimeout(() => allow(id, params), answerMs)
    } else if (id !== undefined) send({ id, error: { code: -32601, message: "Method not found" } })
  })
  const call = (method, params) =>
    new Promise((done, fail) => {
      const id = next++
      const late = setTimeout(() => fail(new Error(`${method} has no answer.`)), longestMs)
      waiting.set(id, ({ error, result }) => {
        clearTimeout(late)
        if (error === undefined) done(result)
        else fail(new Error(`${method}: ${JSON.stringify(error)}`))
      })
      send({ id, method, params })
    })
  return { call, noted }
}

/** The fields that the protocol and the product know. Ids, times and what else is of this run alone goes. */
const kept = ({ _meta, sessionId: _, ...fields }) => ({
  ...fields,
  ...(_meta?.toolName !== undefined && { _meta: { toolName: _meta.toolName } })
})

const recordingOf = (noted, { home, tree }) => {
  const at = noted.findLastIndex(({ asked }) => asked !== undefined)
  if (at < 0) return undefined
  const { options, toolCall } = noted[at].asked
  const isAbout = ({ update }) => update?.toolCallId === toolCall.toolCallId
  const answered = noted.findIndex((each, index) => index > at && each.answered)
  const updates = (list) => list.filter(isAbout).map(({ update }) => kept(update))
  const recording = {
    origin: "recorded",
    before: updates(noted.slice(0, at)),
    toolCall: kept(toolCall),
    options,
    after: updates(noted.slice(at + 1, answered))
  }
  const text = JSON.stringify(recording).replaceAll(toolCall.toolCallId, "c1")
  return JSON.parse(text.replaceAll(tree, "/w").replaceAll(home, "/home"))
}

const stepsOf = (known, { tree }) => ({
  edit: (known.edit ?? edit)(join(tree, "src/a.ts")),
  command: [{ tool: "bash", cmd: "npm test > out.txt", ask: known.edit === undefined }],
  fetch: typeof known.fetch === "string" ? known.fetch : [{ tool: known.fetch[0], args: known.fetch[1] }],
  mcp: known.mcp ?? [{ tool: "close", args: { id: 7, reason: "done" } }]
})

const record = async (id) => {
  const manifest = manifestOf(id)
  const { agent, settings } = manifest.runtime
  const place = makePlace()
  const gateway = await startGateway()
  const tools = await startTools()
  const child = startAgent(manifest, agents[id], { gateway, place })
  try {
    const { call, noted } = talk(child)
    await call("initialize", {
      protocolVersion: 1,
      clientInfo: { name: "reins", version: "0.1.0" },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false }
    })
    const kinds = {}
    for (const [kind, steps] of Object.entries(stepsOf(agents[id], place))) {
      if (typeof steps === "string") {
        kinds[kind] = { origin: "none", why: steps }
        continue
      }
      noted.length = 0
      const { sessionId } = await call("session/new", {
        cwd: place.tree,
        mcpServers: [{ type: "http", name: "tickets", url: tools.url, headers: [] }],
        ...(settings.session_meta !== undefined && { _meta: settings.session_meta })
      })
      if (settings.model_selector === "set_model") await call("session/set_model", { sessionId, modelId: "scripted-1" })
      // Agents connect to their servers in the background.
      if (kind === "mcp") await new Promise((connected) => setTimeout(connected, 4000))
      const text = script("Work.", ...steps, { say: "Worked." })
      await call("session/prompt", { sessionId, prompt: [{ type: "text", text }] })
      kinds[kind] = recordingOf(noted, place)
      if (kinds[kind] === undefined) throw new Error(`It did not ask for: ${kind}.`)
    }
    return { agent: `${agent.name} ${agent.version}`, kinds }
  } finally {
    // Its own processes write into its home.
    process.kill(-child.pid, "SIGKILL")
    tools.close()
    await gateway.close()
    rmSync(place.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  }
}

const ids = process.argv.slice(2)
if (ids.length === 0) throw new Error(`Name agents: ${Object.keys(agents).join(" ")}`)
const recordings = JSON.parse(readFileSync(target, "utf8"))
for (const id of ids) {
  recordings[id] = await record(id)
  writeFileSync(target, `${JSON.stringify(recordings, null, 2)}\n`)
  process.stdout.write(`${id}: ${recordings[id].agent}\n`)
}
