/** The protocols that a program may speak alone: the oldest one, that of 2025, and the newest one, which has no sessions. */
export type StdioEra = "2024-11-05" | "2025-11-25" | "2026-07-28"

/** A server of the Model Context Protocol over standard input and output, as code for `node -e`. Its tools say what it can reach. */
const codeOf = (era: StdioEra) => `
const era = "${era}"
const fs = require("node:fs")
const net = require("node:net")
const { stderr, stdin, stdout, env } = process
let count = 0
stdout.write("Starting.\\n")
const tool = (name, description) => ({ name, description, inputSchema: { type: "object", properties: {} } })
const cached = era === "2026-07-28" && { ttlMs: 0, cacheScope: "private" }
const isNew = era === "2026-07-28"
const say = (id, result) => stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: isNew ? { resultType: "complete", ...result } : result }) + "\\n")
const text = (words) => ({ content: [{ type: "text", text: words }] })
const reach = (path) => { try { return fs.readFileSync(path, "utf8").length > 0 } catch { return false } }
const connects = (port) => new Promise((done) => {
  const socket = net.connect(port, "127.0.0.1", () => { socket.destroy(); done(true) })
  socket.on("error", () => done(false))
})
const calls = {
  get_issue: async (input) => text("Issue " + JSON.stringify(input) + " " + (env.LAB_KEY ?? "no key") + " call " + ++count),
  add_comment: async () => text("Added."),
  look: async ({ path, port }) => text(JSON.stringify({ reads: reach(path), connects: await connects(port), home: env.HOME, names: Object.keys(env).sort() })),
  large: async () => text("x".repeat(5000000)),
  flood: () => new Promise(() => {
    stdout.on("error", () => {})
    const go = () => { while (stdout.write("x".repeat(65536))); stdout.once("drain", go) }
    go()
  }),
  tell: async () => {
    const said = Object.entries(env).filter(([name]) => name.startsWith("KEY_")).flatMap(([, value]) => {
      const bytes = Buffer.from(value)
      return [value, encodeURIComponent(value), JSON.stringify(value), bytes.toString("base64"), bytes.toString("hex"), [...value].reverse().join("")]
    })
    return { ...text(said.join(" ")), structuredContent: { said } }
  },
  hang: () => new Promise(() => {}),
  die: async () => { stderr.write("I die with " + env.LAB_KEY + "\\n", () => process.exit(3)); return new Promise(() => {}) }
}
require("node:readline").createInterface({ input: stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const asked = params?._meta?.["io.modelcontextprotocol/protocolVersion"]
  const refuse = (code, message, data) => stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } }) + "\\n")
  if (isNew && method === "server/discover") say(id, { supportedVersions: [era], capabilities: { tools: {} }, serverInfo: { name: "lab", version: "1" }, ...cached })
  else if (isNew && asked !== era) refuse(-32022, "Unsupported protocol version", { supported: [era], requested: asked })
  else if (!isNew && asked !== undefined) refuse(-32601, "Method not found")
  else if (method === "initialize" && !isNew) say(id, { protocolVersion: era, capabilities: { tools: {} }, serverInfo: { name: "lab", version: "1" } })
  else if (method === "tools/list") say(id, { tools: Object.keys(calls).map((name) => tool(name, "Does " + name + ".")), ...cached })
  else if (method === "tools/call") say(id, await calls[params.name](params.arguments))
  else stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }) + "\\n")
})
`

/** The command of that server. */
export const stdioServerOf = (era: StdioEra): ReadonlyArray<string> => ["node", "-e", codeOf(era)]

/** The same in the protocol of 2025. */
export const stdioServer: ReadonlyArray<string> = stdioServerOf("2025-11-25")

const sayingCode = `
let answer = {}
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }))
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (method === "initialize") say({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "lab", version: "1" } } })
  else if (method === "tools/call") {
    answer = params.arguments
    say({ id, result: { content: [] } })
  } else if (method !== "tools/list") say({ id, error: { code: -32601, message: "Method not found" } })
  else {
    const { cut, pauseMs = 0, delayMs = 0, text } = answer
    const told = text.replace('"ID"', JSON.stringify(id))
    const half = Math.floor(told.length / 2)
    if (cut !== undefined) process.stdout.write(told.slice(0, half), () => process.exit(1))
    else setTimeout(() => {
      process.stdout.write(told.slice(0, half))
      setTimeout(() => console.log(told.slice(half)), pauseMs)
    }, delayMs)
  }
})
`

/**
 * The command of a program that lists its tools as it was told last. A call of any tool tells it: the arguments are the answer, with "ID" in the
 * place of the number of the request.
 */
export const programTold: ReadonlyArray<string> = ["node", "-e", sayingCode]
