import { assert, describe, it } from "@effect/vitest"
import { AnswerReader } from "@reins/machine/relay/gateway/AnswerReader"
import type { CallProtocol } from "@reins/machine/relay/gateway/ModelCall"

/** An answer of each protocol, whole and as events, with the words about itself that are to be read. */
const answers: Readonly<
  Record<CallProtocol, { readonly whole: object; readonly events: ReadonlyArray<object>; readonly end: string }>
> = {
  openai_chat: {
    whole: { model: "m-1", choices: [{ message: { content: "x", model: "no" }, finish_reason: "stop" }] },
    events: [
      { model: "m-1", choices: [{ delta: { content: "x" }, finish_reason: null }] },
      { model: "m-1", choices: [{ delta: {}, finish_reason: "stop" }] },
      { choices: [] }
    ],
    end: "stop"
  },
  openai_responses: {
    whole: { model: "m-1", status: "incomplete", output: [], incomplete_details: { reason: "max_output_tokens" } },
    events: [
      { type: "response.created", response: { model: "m-1", status: "in_progress" } },
      {
        type: "response.incomplete",
        response: { model: "m-1", status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
      }
    ],
    end: "max_output_tokens"
  },
  anthropic_messages: {
    whole: { model: "m-1", content: [], stop_reason: "end_turn" },
    events: [
      { type: "message_start", message: { model: "m-1", content: [] } },
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "message_stop" }
    ],
    end: "end_turn"
  },
  gemini: {
    whole: { modelVersion: "m-1", candidates: [{ finishReason: "STOP" }] },
    events: [
      { modelVersion: "m-1", candidates: [{}] },
      { modelVersion: "m-1", candidates: [{ finishReason: "STOP" }] }
    ],
    end: "STOP"
  }
}

const wordsOf = (protocol: CallProtocol, text: string, readsWords: boolean) => {
  const reader = new AnswerReader(protocol, readsWords)
  reader.push(Buffer.from(text))
  reader.end()
  return reader.words
}

describe("the words of an answer about itself", () => {
  for (const [name, { end, events, whole }] of Object.entries(answers)) {
    // Boundary: the keys of a record are its protocols.
    const protocol = name as CallProtocol
    const streamed = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")

    it(`are its model and its end, in ${protocol}`, () => {
      for (const text of [JSON.stringify(whole), streamed])
        assert.deepStrictEqual(wordsOf(protocol, text, true), { model: "m-1", ends: [end] })
    })

    it(`are not read unless somebody asks for them, in ${protocol}`, () => {
      assert.deepStrictEqual(wordsOf(protocol, streamed, false), { model: null, ends: [] })
    })
  }

  it("are bounded", () => {
    const whole = { model: "m".repeat(1000), choices: [{ message: {}, finish_reason: "e".repeat(1000) }] }
    const { ends, model } = wordsOf("openai_chat", JSON.stringify(whole), true)
    assert.deepStrictEqual([model?.length, ends.map(({ length }) => length)], [255, [64]])
  })
})
