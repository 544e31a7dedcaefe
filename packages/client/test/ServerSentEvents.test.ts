import { assert, describe, it } from "@effect/vitest"
import { createParser } from "eventsource-parser"
import * as fc from "fast-check"
import { type Frame, makeParser } from "../src/ServerSentEvents.js"

const line = fc.oneof(
  fc.constantFrom(
    "",
    "",
    "id: 7",
    "id:8",
    "event: turn.queued",
    "data: {}",
    "data:x",
    "data",
    ": heartbeat",
    "retry: 2000"
  ),
  fc.string({ maxLength: 12 }).map((text) => `data: ${text.replace(/[\r\n\0]/g, "")}`)
)
const text = fc
  .array(fc.tuple(line, fc.constantFrom("\n", "\n", "\r\n", "\r")))
  .map((lines) => `${lines.map(([content, end]) => content + end).join("")}\n`)

const cut = (whole: string, places: ReadonlyArray<number>): Array<string> => {
  const at = [...places.map((place) => place % (whole.length + 1)), 0, whole.length].sort((a, b) => a - b)
  return at.slice(1).map((end, index) => whole.slice(at[index], end))
}

const frames = (pieces: ReadonlyArray<string>): Array<Frame> => {
  const parse = makeParser()
  return pieces.flatMap((piece) => parse(piece))
}

describe("ServerSentEvents", () => {
  it("reads what eventsource-parser reads, however the text is cut", () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (whole, places) => {
        const expected: Array<Frame> = []
        const parser = createParser({ onEvent: ({ data, event, id }) => expected.push({ id, event, data }) })
        parser.feed(whole)
        const withData = frames(cut(whole, places)).filter((frame) => frame.data !== undefined)
        assert.deepStrictEqual(
          withData.map((frame) => ({ ...frame, event: frame.event || undefined })),
          expected
        )
      })
    )
  })

  it("reports a frame that has only an id", () => {
    assert.deepStrictEqual(frames(["id: 7\n\n: heartbeat\n\n"]), [{ id: "7", event: undefined, data: undefined }])
  })

  it("looks through a long line once, in however many pieces it comes", () => {
    const data = "x".repeat(24 * 1024 * 1024)
    const pieces = Array.from({ length: data.length / 1024 }, (_, index) =>
      data.slice(index * 1024, (index + 1) * 1024)
    )
    const [only, ...others] = frames(["id: 1\r", "data: ", ...pieces, "\r", "\n\n"])
    assert.isTrue(only?.data === data)
    assert.deepStrictEqual([only?.id, others.length], ["1", 0])
  })

  it("never reports a frame that was cut off", () => {
    const whole = "id: 1\nevent: turn.queued\ndata: {}\n\n"
    for (let end = 0; end < whole.length; end++) assert.deepStrictEqual(frames([whole.slice(0, end)]), [])
  })
})
