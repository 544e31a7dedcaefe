import { assert, describe, it } from "@effect/vitest"
import { cutText } from "@reins/base/base/CutText"
import type { NewEvent } from "@reins/base/domain/Event"
import { MessageId } from "@reins/base/domain/Ids"
import { TurnOutput } from "@reins/core/execution/run/TurnOutput"
import { foldTool, type ToolPayload } from "@reins/core/sessions/rows/ToolCall"
import type { HarnessEvent, Tool } from "@reins/machine/harness/HarnessEvent"
import * as fc from "fast-check"

const cap = 64 * 1024

const toolOf = (output: string, fields: Partial<Tool> = {}): Tool => ({
  _tag: "tool",
  tool_id: "t",
  kind: "execute",
  title: "Print lines",
  input: { command: "print" },
  state: "running",
  output_text: output,
  diffs: [],
  locations: [],
  media: [],
  ...fields
})

const outputOf = () => new TurnOutput(MessageId.make("msg_01m82ym0t2ecgbhqyy5xph172w"), {}, null)

const isTool = (event: NewEvent) =>
  event.type === "tool.started" || event.type === "tool.updated" || event.type === "tool.completed"

const fold = (events: ReadonlyArray<NewEvent>): ReadonlyMap<string, ToolPayload> => {
  const calls = new Map<string, ToolPayload>()
  for (const event of events) {
    if (!isTool(event)) continue
    const payload = event.payload as ToolPayload
    const call = foldTool(calls.get(payload.tool_id), payload)
    if (call !== undefined) calls.set(payload.tool_id, call)
  }
  return calls
}

/** The events of reports that come after so many milliseconds each, with what waits at the end. */
const eventsOf = (reports: ReadonlyArray<HarnessEvent>, step: number): ReadonlyArray<NewEvent> => {
  const output = outputOf()
  const told = reports.flatMap((report, at) => output.events([report], 1_000_000 + at * step))
  return [...told, ...output.rest(1_000_000 + reports.length * step)]
}

/** The part of a text that events hold. It has whole characters, and no half of one at its end. */
const withinCap = (text: string): string => cutText(text, cap).replace(/[\ud800-\udbff]$/, "")

describe("the events of tool calls", () => {
  it("cost what was put out, of a command that prints 2,000 lines in 20 seconds", () => {
    const lines = Array.from({ length: 2000 }, (_, at) => `line ${at} of a build that prints and prints\n`)
    let said = ""
    const reports = lines.map((line) => {
      said += line
      return toolOf(said)
    })
    const events = eventsOf([...reports, toolOf(said, { state: "done" })], 10)
    assert.isAtMost(events.length, 90)
    assert.isAtMost(JSON.stringify(events).length, 4 * said.length)
    assert.isTrue(events.slice(1, -1).every(({ type }) => type === "tool.updated"))
    assert.strictEqual(fold(events).get("t")?.output_text, withinCap(said))
  })

  it("come at most four times a second, and whole at the end of the call", () => {
    const output = outputOf()
    const typesAt = (now: number, text: string, fields?: Partial<Tool>) =>
      output.events([toolOf(text, fields)], now).map(({ type }) => type)
    assert.deepStrictEqual(typesAt(1000, "a"), ["tool.started"])
    assert.deepStrictEqual(typesAt(1100, "ab"), [])
    assert.strictEqual(output.nextAt, 1250)
    assert.deepStrictEqual(
      output.events([], 1250).map(({ payload }) => payload),
      [{ tool_id: "t", output_offset: 1, output_appended: "b" }]
    )
    assert.isUndefined(output.nextAt)
    assert.deepStrictEqual(typesAt(1300, "abc"), [])
    assert.deepStrictEqual(typesAt(1310, "abcd", { state: "done" }), ["tool.completed"])
    assert.isEmpty(output.rest(1320))
  })

  it("give exactly the last output, however agents report it", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.constantFrom("", "🙂", "\ud83d", "\r100 %", "\u001b[31mred\u001b[0m", "x".repeat(cap - 1), "é\n")
    )
    const step = fc.record({
      tool_id: fc.constantFrom("one", "two"),
      how: fc.constantFrom("append", "replace", "shrink", "window"),
      text
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.nat(400), (steps, pause) => {
        const last = new Map<string, string>()
        const reports = steps.map(({ how, text: said, tool_id }) => {
          const before = last.get(tool_id) ?? ""
          const shrunk = how === "shrink" ? before.slice(0, before.length >> 1) : (before + said).slice(-20)
          const after = how === "append" ? before + said : how === "replace" ? said : shrunk
          last.set(tool_id, after)
          return toolOf(after, { tool_id })
        })
        const calls = fold(eventsOf(reports, pause))
        for (const [id, said] of last) assert.strictEqual(calls.get(id)?.output_text, withinCap(said))
      }),
      { numRuns: 100 }
    )
  })

  it.each([
    ["half a character at the cap and after it", ["\ud83d", "\u0000"], cap - 1],
    ["two halves that are no pair", ["\ud83d\ud83d", "x"], cap - 1],
    ["a character across the cap", ["🙂"], cap - 1],
    ["a letter whose mark is over the cap", ["e", "\u0301", "x"], cap - 1],
    ["half a character that its other half follows", ["\ud83d", "\ude42"], cap - 2]
  ])("end with whole characters: %s", (_, parts, length) => {
    let said = "x".repeat(length)
    const reports = ["", ...parts].map((part) => {
      said += part
      return toolOf(said)
    })
    const told = fold(eventsOf(reports, 400)).get("t")?.output_text ?? assert.fail("no output")
    assert.isTrue(said.startsWith(told))
    assert.isAtLeast(told.length, Math.min(said.length, cap) - 1)
    assert.isAtMost(told.length, cap)
    assert.strictEqual(told, Buffer.from(told).toString())
  })

  it("repeat neither an input, an edit nor an image", () => {
    const big = "x".repeat(50_000)
    const fields = {
      input: { content: big },
      diffs: [{ path: "a", old_text: null, new_text: big }],
      media: [
        {
          kind: "image" as const,
          media_type: "image/png",
          name: null,
          uri: null,
          data: big,
          text: null,
          truncated: false
        }
      ]
    }
    const events = eventsOf(
      Array.from({ length: 100 }, (_, at) => toolOf("line\n".repeat(at), fields)),
      300
    )
    assert.isAtMost(JSON.stringify(events.slice(1)).length, 20_000)
    assert.deepInclude(fold(events).get("t"), { input: fields.input, media: fields.media })
  })

  it("tell a plan that is given again and again at most as often", () => {
    const plan = (text: string): HarnessEvent => ({
      _tag: "plan",
      plan_id: null,
      entries: [],
      text,
      uri: null,
      removed: false
    })
    const plans = Array.from({ length: 1000 }, (_, at) => plan("step\n".repeat(at)))
    const events = eventsOf(plans, 1)
    assert.isAtMost(events.length, 6)
    assert.deepInclude(events.at(-1)?.payload, { text: "step\n".repeat(999) })
    assert.isEmpty(eventsOf([plan("a"), plan("a")], 300).slice(1))
  })

  it("are folded of a log of a release before, whose events are whole", () => {
    const whole = (output_text: string) => ({ ...toolOf(""), output_text, truncated: false })
    const { _tag, ...first } = whole("a")
    const { _tag: _, ...second } = whole("ab")
    assert.strictEqual(foldTool(foldTool(undefined, first), second)?.output_text, "ab")
    assert.isUndefined(foldTool(undefined, { tool_id: "t", output_offset: 0, output_appended: "a" }))
  })
})
