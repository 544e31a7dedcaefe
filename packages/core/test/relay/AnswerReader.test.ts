import { assert, describe, it } from "@effect/vitest"
import { AnswerReader } from "@reins/machine/relay/gateway/AnswerReader"
import { JsonScan } from "@reins/machine/relay/gateway/JsonScan"
import type { CallProtocol, CallUsage } from "@reins/machine/relay/gateway/ModelCall"
import * as fc from "fast-check"

/** The same bytes in pieces that end anywhere. */
const cut = (bytes: Buffer, places: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

const places = fc.array(fc.nat({ max: 100_000 }), { maxLength: 40 })
const count = fc.nat({ max: 10_000_000 })
/** Words with everything that JSON and events could stumble over. */
const words = fc.string({
  unit: fc.constantFrom("a", "é", "💡", '"', "\\", "\n", "\r\n", "data: ", "[DONE]", "{", "}", "usage")
})

const read = (protocol: CallProtocol, pieces: ReadonlyArray<Buffer>): AnswerReader => {
  const reader = new AnswerReader(protocol)
  for (const piece of pieces) reader.push(piece)
  reader.end()
  return reader
}

interface Case {
  readonly whole: unknown
  readonly events: ReadonlyArray<unknown>
  readonly usage: CallUsage
}

const sse = (events: ReadonlyArray<unknown>, lineEnd: string): Buffer =>
  Buffer.from(
    events
      .map(
        (event) =>
          `event: x${lineEnd}: a comment${lineEnd}data: ${typeof event === "string" ? event : JSON.stringify(event)}${lineEnd}${lineEnd}`
      )
      .join("")
  )

/** An answer of each protocol, whole and as events, and its usage in the words of the relay. */
const answers: Readonly<Record<CallProtocol, fc.Arbitrary<Case>>> = {
  openai_chat: fc
    .record({ input: count, cached: count, output: count, reasoning: count, say: words })
    .map(({ cached, input, output, reasoning, say }) => {
      const usage = {
        prompt_tokens: input,
        completion_tokens: output,
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens_details: { reasoning_tokens: reasoning }
      }
      return {
        whole: { id: "x", choices: [{ message: { content: say }, finish_reason: "stop" }], usage },
        events: [
          { choices: [{ delta: { content: say, usage: { prompt_tokens: 7 } }, finish_reason: null }], usage: null },
          { choices: [{ delta: {}, finish_reason: "stop" }] },
          { choices: [], usage },
          "[DONE]"
        ],
        usage: { input, cached, cacheWritten: null, output, reasoning }
      }
    }),
  openai_responses: fc
    .record({ input: count, cached: count, output: count, reasoning: count, say: words })
    .map(({ cached, input, output, reasoning, say }) => {
      const usage = {
        input_tokens: input,
        input_tokens_details: { cached_tokens: cached },
        output_tokens: output,
        output_tokens_details: { reasoning_tokens: reasoning }
      }
      const item = { type: "message", content: [{ type: "output_text", text: say }] }
      return {
        whole: { object: "response", status: "completed", error: null, output: [item], usage },
        events: [
          { type: "response.created", response: { output: [], usage: null, error: null } },
          { type: "response.output_text.delta", delta: say, usage: { input_tokens: 7 }.input_tokens },
          { type: "response.completed", response: { output: [item], usage, error: null } }
        ],
        usage: { input, cached, cacheWritten: null, output, reasoning }
      }
    }),
  anthropic_messages: fc
    .record({ fresh: count, cached: count, written: count, output: count, say: words })
    .map(({ cached, fresh, output, say, written }) => {
      const input = { input_tokens: fresh, cache_read_input_tokens: cached, cache_creation_input_tokens: written }
      return {
        whole: { type: "message", content: [{ type: "text", text: say }], usage: { ...input, output_tokens: output } },
        events: [
          { type: "message_start", message: { content: [], usage: { ...input, output_tokens: 1 } } },
          { type: "ping" },
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: say } },
          {
            type: "message_delta",
            delta: { stop_reason: "end_turn" },
            usage: { input_tokens: fresh, output_tokens: output }
          },
          { type: "message_stop" }
        ],
        usage: { input: fresh + cached + written, cached, cacheWritten: written, output, reasoning: null }
      }
    }),
  gemini: fc
    .record({ prompt: count, tools: count, cached: count, candidates: count, thoughts: count, say: words })
    .map(({ cached, candidates, prompt, say, thoughts, tools }) => {
      const usageMetadata = {
        promptTokenCount: prompt,
        toolUsePromptTokenCount: tools,
        cachedContentTokenCount: cached,
        candidatesTokenCount: candidates,
        thoughtsTokenCount: thoughts
      }
      const content = { parts: [{ text: say }] }
      const last = { candidates: [{ content, finishReason: "STOP" }], usageMetadata }
      return {
        whole: last,
        events: [
          { candidates: [{ content }], usageMetadata: { promptTokenCount: prompt, candidatesTokenCount: 1 } },
          last
        ],
        usage: { input: prompt + tools, cached, cacheWritten: null, output: candidates + thoughts, reasoning: thoughts }
      }
    })
}

/** The number of the last events without which an answer has no end. */
const endEvents: Readonly<Record<CallProtocol, number>> = {
  openai_chat: 3,
  openai_responses: 1,
  anthropic_messages: 1,
  gemini: 1
}

const protocols: ReadonlyArray<CallProtocol> = ["openai_chat", "openai_responses", "anthropic_messages", "gemini"]

for (const protocol of protocols) {
  describe(`answers of ${protocol}`, () => {
    it("are read whole or streamed, wherever their pieces end", () => {
      fc.assert(
        fc.property(
          answers[protocol],
          places,
          fc.constantFrom("\n", "\r\n"),
          fc.constantFrom(0, 2),
          (answer, cuts, lineEnd, indent) => {
            const forms = [Buffer.from(JSON.stringify(answer.whole, null, indent)), sse(answer.events, lineEnd)]
            for (const bytes of forms) {
              const reader = read(protocol, cut(bytes, cuts))
              assert.deepStrictEqual(reader.usage, answer.usage)
              assert.deepStrictEqual([reader.isAnswer, reader.isEnded, reader.error], [true, true, undefined])
            }
          }
        )
      )
    })

    it("that end too early are not whole", () => {
      fc.assert(
        fc.property(answers[protocol], places, fc.nat(), (answer, cuts, place) => {
          const whole = Buffer.from(JSON.stringify(answer.whole))
          const events = sse(answer.events.slice(0, -endEvents[protocol]), "\n")
          for (const bytes of [
            whole.subarray(0, place % whole.length),
            events.subarray(0, events.length - (place % 4))
          ])
            assert.isFalse(read(protocol, cut(bytes, cuts)).isEnded)
        })
      )
    })

    it("that are none of the protocol are not taken for one", () => {
      fc.assert(
        fc.property(fc.oneof(fc.string(), fc.json(), words), places, (text, cuts) => {
          const reader = read(protocol, cut(Buffer.from(text), cuts))
          assert.deepStrictEqual([reader.isAnswer, reader.isEnded, reader.usage], [false, false, null])
        })
      )
    })
  })
}

it("an error within an answer is told with the status that it stands for", () => {
  const cases: ReadonlyArray<readonly [CallProtocol, unknown, number, string | null]> = [
    ["openai_chat", { error: { code: 429, message: "Slow down." } }, 429, "Slow down."],
    ["openai_chat", { error: { type: "insufficient_quota", message: "Pay." } }, 402, "Pay."],
    ["openai_chat", { error: "broken" }, 500, "broken"],
    ["anthropic_messages", { type: "error", error: { type: "overloaded_error", message: "Full." } }, 529, "Full."],
    ["anthropic_messages", { type: "error", error: { type: "authentication_error", message: "No." } }, 401, "No."],
    [
      "openai_responses",
      { type: "response.failed", response: { error: { code: "rate_limit_exceeded", message: "Slow." } } },
      429,
      "Slow."
    ],
    ["openai_responses", { type: "error", code: "server_error", message: "Oh." }, 500, "Oh."],
    ["gemini", { error: { code: 503, message: "Busy.", status: "UNAVAILABLE" } }, 503, "Busy."],
    ["gemini", [{ error: { code: 401, message: "No." } }], 401, "No."]
  ]
  for (const [protocol, document, status, said] of cases) {
    for (const bytes of [Buffer.from(JSON.stringify(document)), sse([document], "\n")]) {
      if (Array.isArray(document) && bytes.toString().startsWith("event")) continue
      const reader = read(protocol, [bytes])
      assert.deepStrictEqual([reader.error?.status, reader.error?.words], [status, said], JSON.stringify(document))
      assert.isFalse(reader.isEnded)
    }
  }
})

describe("a scan of JSON", () => {
  const wanted = { values: new Set(["a", "b/c", "d/*/e"]), marks: new Set(["list/*", "b"]) }
  const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), words)
  const document = fc.record(
    {
      a: value,
      b: fc.oneof(value, fc.record({ c: value })),
      d: fc.array(fc.record({ e: value })),
      list: fc.array(value),
      other: value
    },
    { requiredKeys: [] }
  )

  it("finds what JSON.parse finds, wherever the pieces end", () => {
    fc.assert(
      fc.property(document, places, fc.constantFrom(0, 3), (given, cuts, indent) => {
        // The value of a text is the one that JSON.parse gives back: it has no -0 and no property named __proto__ of its own.
        const text = JSON.stringify(given, null, indent)
        const parsed = JSON.parse(text)
        const scan = new JsonScan(wanted)
        for (const piece of cut(Buffer.from(text), cuts)) scan.push(piece)
        assert.isTrue(scan.isWhole)
        const expected = (at: unknown) => (at === null ? undefined : at)
        assert.deepStrictEqual(scan.found.get("a"), expected(parsed.a))
        assert.deepStrictEqual(scan.found.get("b/c"), expected(parsed.b?.c))
        const isNested = (at: unknown) => typeof at === "object" && at !== null
        assert.strictEqual(scan.found.has("list/*"), (parsed.list ?? []).some(isNested))
        assert.strictEqual(scan.found.has("b"), isNested(parsed.b))
        const last = (parsed.d ?? [])
          .map((each: { e?: unknown }) => expected(each.e))
          .filter((e: unknown) => e !== undefined)
        assert.deepStrictEqual(scan.found.get("d/*/e"), last.at(-1))
      })
    )
  })

  it("takes no beginning of an object for a whole one, and nothing for one that is broken", () => {
    fc.assert(
      fc.property(document, fc.nat(), (given, place) => {
        const bytes = Buffer.from(JSON.stringify(given))
        const scan = new JsonScan(wanted)
        scan.push(bytes.subarray(0, place % bytes.length))
        assert.isFalse(scan.isWhole)
        scan.push(Buffer.from("]"))
        scan.push(bytes)
        if (!scan.isWhole) return
        assert.fail(bytes.toString())
      })
    )
    for (const broken of ["{]", "{,}", '{"a"}', '{"a":}', "[1,,2]", "{} {}", '{"a":1,}x', "nope(", '{"a":tru}']) {
      const scan = new JsonScan(wanted)
      scan.push(Buffer.from(broken))
      assert.isFalse(scan.isWhole, broken)
    }
  })

  it("keeps no value that is longer than 64 KiB, and reads on behind it", () => {
    const scan = new JsonScan(wanted)
    scan.push(Buffer.from(JSON.stringify({ a: "x".repeat(70_000), b: { c: 1 } })))
    assert.deepStrictEqual(
      [...scan.found],
      [
        ["b", true],
        ["b/c", 1]
      ]
    )
    assert.isTrue(scan.isWhole)
  })
})

type Ends = readonly [whole: unknown, events: ReadonlyArray<unknown>]

/** An answer of each protocol that ends with a word, whole and as events. */
const endingWith: Readonly<Record<CallProtocol, (word: string) => Ends>> = {
  openai_chat: (word) => [
    { choices: [{ message: { content: "Half of", refusal: null }, finish_reason: word }] },
    [
      { choices: [{ delta: { content: "Half of" }, finish_reason: null }] },
      { choices: [{ delta: {}, finish_reason: word }] },
      { choices: [] },
      "[DONE]"
    ]
  ],
  openai_responses: (word) => [
    { object: "response", status: "incomplete", incomplete_details: { reason: word }, output: [] },
    [
      { type: "response.created", response: { status: "in_progress", incomplete_details: null } },
      { type: "response.incomplete", response: { status: "incomplete", incomplete_details: { reason: word } } }
    ]
  ],
  anthropic_messages: (word) => [
    { type: "message", content: [], stop_reason: word },
    [
      { type: "message_start", message: { stop_reason: null } },
      { type: "message_delta", delta: { stop_reason: word }, usage: { output_tokens: 3 } },
      { type: "message_stop" }
    ]
  ],
  gemini: (word) => [
    { candidates: [{ finishReason: word }] },
    [{ candidates: [{ content: {} }] }, { candidates: [{ finishReason: word }] }]
  ]
}

const lacks: Readonly<Record<"cut" | "withheld" | "null", Partial<Record<CallProtocol, ReadonlyArray<string>>>>> = {
  cut: {
    openai_chat: ["length", "max_tokens", "model_length", "LENGTH"],
    openai_responses: ["max_output_tokens", "a reason of tomorrow"],
    anthropic_messages: ["max_tokens", "model_context_window_exceeded"],
    gemini: ["MAX_TOKENS"]
  },
  withheld: {
    openai_chat: ["content_filter", "sensitive", "guardrail_intervened"],
    openai_responses: ["content_filter"],
    anthropic_messages: ["refusal"],
    gemini: ["SAFETY", "RECITATION", "PROHIBITED_CONTENT"]
  },
  null: {
    openai_chat: ["stop", "tool_calls", "function_call", "a word of tomorrow"],
    anthropic_messages: ["end_turn", "tool_use", "stop_sequence", "pause_turn"],
    gemini: ["STOP"]
  }
}

for (const [lack, words] of Object.entries(lacks))
  for (const protocol of Object.keys(endingWith).filter((each): each is CallProtocol => each in words))
    it(`${protocol}: ${words[protocol]?.join(", ")} say that the answer is ${lack === "null" ? "whole" : lack}`, () => {
      for (const word of words[protocol] ?? []) {
        const [whole, events] = endingWith[protocol](word)
        for (const bytes of [Buffer.from(JSON.stringify(whole)), sse(events, "\n"), sse(events, "\r\n")]) {
          const reader = read(protocol, cut(bytes, [7, 31, 64]))
          assert.deepStrictEqual(
            [reader.lack, reader.isEnded, reader.error],
            [lack === "null" ? null : lack, true, undefined],
            word
          )
        }
      }
    })

it("a model that refuses in words of their own field has withheld its answer, and an empty field says nothing", () => {
  const chat = (refusal: unknown) =>
    read("openai_chat", [sse([{ choices: [{ delta: { refusal }, finish_reason: "stop" }] }, "[DONE]"], "\n")])
  assert.strictEqual(chat("I cannot help with that.").lack, "withheld")
  for (const empty of [null, "", 0, {}]) assert.isNull(chat(empty).lack)
  const events = [
    { type: "response.refusal.done", refusal: "No." },
    { type: "response.completed", response: {} }
  ]
  assert.strictEqual(read("openai_responses", [sse(events, "\n")]).lack, "withheld")
})
