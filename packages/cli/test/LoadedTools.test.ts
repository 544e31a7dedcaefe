import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { loadTools } from "@reins/cli/client/Tools"
import { afterAll, assert, it } from "vitest"

const directory = mkdtempSync(join(tmpdir(), "reins-tools-"))
afterAll(() => rmSync(directory, { recursive: true }))

const loaded = async (name: string, text: string) => {
  const file = join(directory, name)
  writeFileSync(file, text)
  return Object.keys(await loadTools(file))
}

const tool = '{ description: "adds", input: { type: "object" }, run() {} }'

it.each([
  ["a default export", "default.mjs", `export default { add: ${tool} }`, ["add"]],
  ["an export named tools", "named.mjs", `export const tools = { add: ${tool} }`, ["add"]],
  [
    "both, of which the default is taken",
    "both.mjs",
    `export const tools = {}; export default { add: ${tool} }`,
    ["add"]
  ],
  ["CommonJS", "common.cjs", `module.exports = { add: ${tool} }`, ["add"]],
  ["CommonJS with an export named tools", "common-named.cjs", `exports.tools = { add: ${tool} }`, ["add"]],
  ["CommonJS with a function of that name", "common-tool.cjs", `exports.tools = ${tool}`, ["tools"]],
  [
    "CommonJS that was an ES module",
    "built.cjs",
    `exports.__esModule = true; exports.default = { add: ${tool} }`,
    ["add"]
  ]
])("the functions of %s are found", async (_, name, text, names) => {
  assert.deepStrictEqual(await loaded(name, text), names)
})

it.each([
  ["awaits something at its top", "await.mjs", "await 1; export default {}", /it awaits something at its top/],
  ["exports null", "null.cjs", "module.exports = null", /has no tools/],
  ["exports a function", "function.mjs", "export default () => 1", /has no tools/],
  [
    "throws when its exports are read",
    "trap.cjs",
    "module.exports = new Proxy({}, { get() { throw new Error('no') } })",
    /could not be loaded: no$/
  ]
])("a module that %s is refused in words", async (_, name, text, words) => {
  const error = await loaded(name, text).then(
    () => assert.fail("it was loaded"),
    (cause: unknown) => cause
  )
  assert.match(String(Object(error).message), words)
})
