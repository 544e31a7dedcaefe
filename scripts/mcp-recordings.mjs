// Takes the parts of the published schemas of the Model Context Protocol that servers of tools answer with, and the examples of tools, into
// packages/testing/recordings/mcp. Run it with a checkout of github.com/modelcontextprotocol/modelcontextprotocol when a version comes out.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"

const [checkout] = process.argv.slice(2)
if (checkout === undefined) throw new Error("Name the checkout: node scripts/mcp-recordings.mjs FOLDER")

const target = new URL("../packages/testing/recordings/mcp/", import.meta.url)
const git = (...args) =>
  execFileSync("git", ["-C", checkout, ...args], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
const show = (path) => git("show", `HEAD:${path}`)

const answers = [
  "InitializeResult",
  "DiscoverResult",
  "ListToolsResult",
  "CallToolResult",
  "EmptyResult",
  "JSONRPCResultResponse",
  "JSONRPCErrorResponse"
]
const versions = { "2025-11-25": answers, "2026-07-28": answers }

/** The names of definitions that a value refers to. */
const referred = (value) => [...JSON.stringify(value).matchAll(/"#\/\$defs\/([^"]+)"/g)].map(([, name]) => name)

const withoutWords = (value, isNames = false) => {
  if (Array.isArray(value)) return value.map((each) => withoutWords(each))
  if (typeof value !== "object" || value === null) return value
  const told = Object.entries(value).filter(
    ([name, inner]) => isNames || name !== "description" || typeof inner !== "string"
  )
  return Object.fromEntries(
    told.map(([name, inner]) => [name, withoutWords(inner, name === "properties" || name === "$defs")])
  )
}

const commit = git("rev-parse", "HEAD").trim()
mkdirSync(target, { recursive: true })
for (const [version, roots] of Object.entries(versions)) {
  const path = `schema/${version}/schema.json`
  const text = show(path)
  const { $defs } = JSON.parse(text)
  const names = new Set()
  for (const queue = roots.filter((name) => (name in $defs)); queue.length > 0; ) {
    const name = queue.pop()
    if (names.has(name)) continue
    names.add(name)
    queue.push(...referred($defs[name]))
  }
  const taken = Object.fromEntries([...names].sort().map((name) => [name, withoutWords($defs[name])]))
  const source = {
    repository: "modelcontextprotocol/modelcontextprotocol",
    commit,
    path,
    license: "Apache-2.0 and MIT",
    sha256: createHash("sha256").update(text).digest("hex")
  }
  writeFileSync(new URL(`${version}.json`, target), `${JSON.stringify({ source, $defs: taken }, null, 1)}\n`)
}
const examples = git(
  "ls-tree",
  "-r",
  "--name-only",
  "HEAD",
  "schema/2026-07-28/examples/Tool",
  "schema/2026-07-28/examples/CallToolResult"
)
  .trim()
  .split("\n")
  .filter((path) => path.endsWith(".json"))
const recorded = examples.map((path) => ({ path, value: JSON.parse(show(path)) }))
const source = { repository: "modelcontextprotocol/modelcontextprotocol", commit, license: "Apache-2.0 and MIT" }
writeFileSync(new URL("examples.json", target), `${JSON.stringify({ source, examples: recorded }, null, 1)}\n`)
