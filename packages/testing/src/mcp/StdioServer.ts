/** A server of the Model Context Protocol of 2025 over standard input and output, as code for `node -e`. Its tools say what it can reach. */
const code = `
const fs = require("node:fs")
const net = require("node:net")
const { stderr, stdin, stdout, env } = process
let count = 0
stdout.write("Starting.\\n")
const tool = (name, description) => ({ name, description, inputSchema: { type: "object", properties: {} } })
const say = (id, result) => stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n")
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
  hang: () => new Promise(() => {}),
  die: async () => { stderr.write("I die with " + env.LAB_KEY + "\\n", () => process.exit(3)); return new Promise(() => {}) }
}
require("node:readline").createInterface({ input: stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (method === "initialize") say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "lab", version: "1" } })
  else if (method === "tools/list") say(id, { tools: Object.keys(calls).map((name) => tool(name, "Does " + name + ".")) })
  else if (method === "tools/call") say(id, await calls[params.name](params.arguments))
  else stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }) + "\\n")
})
`

/** The command of that server. */
export const stdioServer: ReadonlyArray<string> = ["node", "-e", code]
