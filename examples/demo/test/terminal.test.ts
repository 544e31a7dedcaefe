import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { assert, it } from "vitest"

const printer = join(import.meta.dirname, "../terminal.mjs")

/** The lines of the demo for events. */
const printed = (events: ReadonlyArray<unknown>): ReadonlyArray<string> => {
  const program = `const { eventPrinter } = await import(process.argv[1])
    const print = eventPrinter()
    for (const event of JSON.parse(process.argv[2])) print(event)`
  const given = ["--input-type=module", "--eval", program, printer, JSON.stringify(events)]
  return execFileSync(process.execPath, given, { encoding: "utf8" }).trimEnd().split("\n")
}

it("the demo names a tool in each of its lines, and says nothing where only its output has grown", () => {
  const tool_id = "call_1"
  const lines = printed([
    { seq: 1, type: "tool.started", payload: { tool_id, kind: "execute", title: "bash", state: "pending" } },
    { seq: 2, type: "tool.updated", payload: { tool_id, output_appended: "one\n", output_offset: 0 } },
    { seq: 3, type: "tool.updated", payload: { tool_id, title: "npm test" } },
    { seq: 4, type: "tool.updated", payload: { tool_id: "call_2", state: "running" } },
    { seq: 5, type: "tool.completed", payload: { tool_id, kind: "execute", title: "npm test", state: "done" } }
  ])
  assert.deepStrictEqual(lines, [
    "    1 tool.started execute bash (pending)",
    "    3 tool.updated execute npm test (pending)",
    "    4 tool.updated tool (running)",
    "    5 tool.completed execute npm test (done)"
  ])
})
