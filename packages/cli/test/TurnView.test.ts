import { TurnView } from "@reins/cli/client/TurnView"
import type { EventPayload, TypedEvent } from "@reins/client"
import { captured } from "@reins/testing/process/Captured"
import { afterEach, assert, beforeEach, it } from "vitest"

let output: ReturnType<typeof captured>
let view: TurnView

beforeEach(() => {
  output = captured(process.stdout)
  view = new TurnView()
})

afterEach(() => output.release())

const envelope = {
  id: "evt_01m82m355te9e81k0rh1p4tm1s",
  seq: 1,
  schema_version: 1,
  session_id: "sess_01m82m355te9e81k0rh1p4tm1s",
  workspace_id: "wsp_01m82m355te9e81k0rh1p4tm1s",
  recorded_at: "2026-01-01T00:00:00.000Z",
  actor: { kind: "harness", id: "alpha" }
} as const satisfies Partial<TypedEvent>

const completed = (fields: Partial<EventPayload<"tool.completed">>): TypedEvent => ({
  ...envelope,
  type: "tool.completed",
  payload: {
    tool_id: "tool",
    kind: "other",
    title: "",
    input: null,
    state: "done",
    output_text: null,
    diffs: [],
    locations: [],
    media: [],
    truncated: false,
    ...fields
  }
})

const message_id = "msg_01m82m355te9e81k0rh1p4tm1s"

const said = (content: string, revision = 1): TypedEvent => ({
  ...envelope,
  type: revision === 1 ? "message.part_added" : "message.part_updated",
  payload: {
    message_id,
    part: {
      part_key: "text:1",
      kind: "text",
      revision,
      mode: revision === 1 ? "replace" : "append",
      content,
      sealed: false
    }
  }
})

it("shows the plan that an agent keeps, and then each step whose state has changed", () => {
  const planned = (...states: ReadonlyArray<string>): TypedEvent => ({
    ...envelope,
    type: "plan.updated",
    payload: {
      plan_id: null,
      entries: states.map((status, at) => ({ content: `Step ${at}`, priority: "medium", status })),
      text: null,
      uri: null,
      removed: false
    }
  })
  view.event(planned("in_progress", "pending"))
  view.event(planned("in_progress", "pending"))
  view.event(planned("completed", "cancelled"))
  assert.strictEqual(output.text(), "Plan\n  [>] Step 0\n  [ ] Step 1\nPlan\n  [x] Step 0\n  [-] Step 1\n")
  view.event(planned("completed", "in_progress"))
  view.event(planned("completed", "in_progress", "pending"))
  assert.isTrue(
    output.text().endsWith("Plan\n  [>] Step 1\nPlan\n  [x] Step 0\n  [>] Step 1\n  [ ] Step 2\n"),
    output.text()
  )
})

it.each([
  ["OpenCode", { todos: [{ content: "Read\u001b[2J it", status: "completed", priority: "high" }] }],
  ["Codex", { plan: [{ step: "Read\u001b[2J it", status: "completed" }] }],
  [
    "an agent with odd words",
    { todos: [null, { content: "Read\u001b[2J it", status: "completed" }, { content: 1, status: {} }, "later"] }
  ]
])("shows the steps in the place of the tool with which %s keeps its plan", (_, input) => {
  view.event(completed({ title: "1 todos", input }))
  view.event(completed({ title: "1 todos", input }))
  assert.strictEqual(output.text(), "Plan\n  [x] Read\ufffd[2J it\n")
  view.event(completed({ title: "other", input: { todos: [{ name: "x" }] } }))
  assert.isTrue(output.text().endsWith("✓ other\n"))
})

it("shows a tool with what it is about in a line, and how it ended unless it was done", () => {
  view.event(completed({ title: "write", input: { path: "a.txt" } }))
  view.event(completed({ title: "", kind: "execute", input: { command: "npm\n  test" }, state: "failed" }))
  view.event(completed({ title: `read ${"x".repeat(200)}` }))
  assert.match(output.text(), /^✓ write: a\.txt\n✗ execute: npm test \(failed\)\n✓ read x{94}…\n$/)
})

it("lets nothing that an agent says command a terminal", () => {
  view.event(said("before\u001b]0;owned\u0007\u001b[2Jafter"))
  view.endLine()
  assert.strictEqual(output.text(), "before\ufffd]0;owned\ufffd\ufffd[2Jafter\n")
})

it("writes each word once, whether a delta or the log brings it first", () => {
  const delta = (offset: number, text: string) =>
    view.delta({
      session_id: envelope.session_id,
      turn_id: "turn_01m82m355te9e81k0rh1p4tm1s",
      message_id,
      part_key: "text:1",
      kind: "text",
      offset,
      text
    })
  delta(0, "One ")
  assert.strictEqual(output.text(), "", "the log tells which tools came before")
  view.event(said("One "))
  delta(4, "two ")
  view.event(said("two three", 2))
  delta(20, "lost")
  view.endLine()
  assert.strictEqual(output.text(), "One two three\n")
})

it("shows a step whose state has a word that every object knows", () => {
  view.event(completed({ title: "1 todos", input: { todos: [{ content: "Look", status: "constructor" }] } }))
  assert.strictEqual(output.text(), "Plan\n  [ ] Look\n")
})
