import { assert, it } from "@effect/vitest"
import { ToolCall } from "@reins/machine/harness/acp/AcpSchema"
import { shownCall } from "@reins/machine/harness/acp/ShownCall"
import * as ToolRecord from "@reins/machine/harness/acp/ToolRecord"
import { Schema } from "effect"
import fc from "fast-check"

type Sent = Readonly<Record<string, unknown>>

/** The question about a call, after all that the agent has sent about it. The last is that of its permission request. */
const asking = (...sent: ReadonlyArray<Sent>) => {
  const calls = sent.map((each) => Schema.decodeUnknownSync(ToolCall)({ toolCallId: "c1", ...each }))
  const call = calls.reduce<ReturnType<typeof ToolRecord.merge> | undefined>(ToolRecord.mergeAsked, undefined)
  return shownCall("approval", call, sent.at(-1))
}

const diff = { type: "diff", path: "/w/src/a.ts", oldText: "let a = 1\n", newText: "let a = 2\n" }

it("several files, long edits and long inputs are shown by their beginnings, and what is left out is said", () => {
  const files = Array.from({ length: 30 }, (_, at) => ({ ...diff, path: `/w/f${at}`, newText: "new" }))
  const many = asking({ title: "Edit files", content: files })
  assert.include(many.title, "/w/f0, /w/f1, /w/f2 and 27 more")
  assert.include(many.description, '"further_files":10')
  const long = asking({ title: "Edit files", content: [{ ...diff, newText: "x".repeat(10_000) }] })
  assert.include(JSON.parse(long.description ?? "").new_text, "… 7000 more characters")
  assert.include(
    asking({ title: "Run", rawInput: { command: "x".repeat(20_000) } }).description,
    "more characters are in the events"
  )
})

it("nothing is ever approved blind: every approval has words beside its title", () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.anything(), (rawInput, content, locations) => {
      const given = { toolCallId: "c1", title: "Do it", rawInput, content, locations }
      const call = ToolRecord.merge(undefined, Schema.decodeUnknownSync(ToolCall)(given))
      assert.isNotEmpty(shownCall("approval", call, given).description)
    })
  )
  assert.isNotEmpty(shownCall("approval", undefined, undefined).description)
  assert.include(shownCall("approval", undefined, { id: 7, command: "make" }).description, "make")
  assert.isNull(shownCall("question", undefined, undefined).description)
})

it("what an agent has told before stays where its request has an empty value or names less", () => {
  const told = { kind: "read", rawInput: { filePath: "/w/a.ts" }, locations: [{ path: "/w/a.ts" }] }
  const read = asking({ title: "read", ...told }, { title: "read", rawInput: {}, locations: [] })
  assert.include(`${read.title}${read.description}`, "/w/a.ts")
  assert.strictEqual(asking({ title: "tickets-close" }, { title: "close", rawInput: { id: 7 } }).title, "tickets-close")
  const input = { title: '{"id":7,"why":"so  it is"}', rawInput: { id: 7, why: "so  it is" } }
  assert.strictEqual(asking({ title: "close (tickets)" }, input).title, "close (tickets)")
  assert.strictEqual(asking({ ...input, _meta: { toolName: "mcp__tickets__close" } }).title, "mcp__tickets__close")
})

it("an edit far down in a long file is shown with the lines around it", () => {
  const lines = Array.from({ length: 2000 }, (_, at) => `line ${at}`)
  const after = lines.with(1500, "changed")
  const content = [{ type: "diff", path: "/w/a.ts", oldText: lines.join("\n"), newText: after.join("\n") }]
  const [edit] = JSON.parse(
    asking({ title: "Edit", content, rawInput: { filepath: "/w/a.ts" } }).description ?? ""
  ).edits
  assert.deepStrictEqual(edit, {
    path: "/w/a.ts",
    old_text: lines.slice(1497, 1504).join("\n"),
    new_text: after.slice(1497, 1504).join("\n"),
    first_line: 1498
  })
})

it("long texts are cut so that the description can still be read, and a long title is told in it", () => {
  const command = "x".repeat(20_000)
  const { description } = asking({ title: "Run", rawInput: { command, cwd: "/w" } })
  assert.strictEqual(JSON.parse(description ?? "").cwd, "/w")
  assert.include(description, "more characters are in the events")
  const titled = asking({ title: `${command} last`, content: [] })
  assert.match(titled.title, /x…$/)
  assert.include(asking({ title: `${"y".repeat(3000)} last`, content: [] }).description, "last")
})

it("what an agent says beside the input is shown with it", () => {
  const content = [{ type: "content", content: { type: "text", text: "Allow tickets to run close?" } }]
  const { description } = asking({ title: "Approve", rawInput: { id: 7 }, content })
  assert.deepStrictEqual(JSON.parse(description ?? ""), { id: 7, agent_says: "Allow tickets to run close?" })
  const repeated = asking({ title: "Fetch", rawInput: { prompt: "Allow tickets to run close? Now." }, content })
  assert.notInclude(repeated.description, "agent_says")
})
