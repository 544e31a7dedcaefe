import { assert, describe, it } from "@effect/vitest"
import type { CallProtocol, CallUsage, ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import type { Change, Answer as Said } from "@reins/testing/world/Answer"
import { tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer, changesOfElement, changesOfField } from "@reins/testing/world/Changes"
import { inJson, openSpeaker } from "@reins/testing/world/Speaker"
import { Deferred, Effect, Either, FiberId } from "effect"
import { ask, bearer, lentTo, services } from "./Loans.js"

/** An answer of a protocol: as one document, and as events of which the one at `at` tells of the end. */
interface Spoken {
  readonly path: string
  readonly whole: unknown
  readonly events: ReadonlyArray<unknown>
  readonly at: number
  readonly usage: CallUsage
  /** The list of the document, and the fields that are read of its second element. */
  readonly list: readonly [name: string, fields: ReadonlyArray<string>]
  /** The fields that are read of the document, and those of the event. */
  readonly fields: ReadonlyArray<string>
  readonly ofEvent: ReadonlyArray<string>
}

const chatUsage = {
  prompt_tokens: 30,
  completion_tokens: 20,
  prompt_tokens_details: { cached_tokens: 10 },
  completion_tokens_details: { reasoning_tokens: 5 }
}
const named = {
  input_tokens: 30,
  output_tokens: 20,
  input_tokens_details: { cached_tokens: 10 },
  output_tokens_details: { reasoning_tokens: 5 }
}
const anthropic = {
  input_tokens: 15,
  cache_read_input_tokens: 10,
  cache_creation_input_tokens: 5,
  output_tokens: 20
}
const google = { promptTokenCount: 30, cachedContentTokenCount: 10, candidatesTokenCount: 15, thoughtsTokenCount: 5 }

const usage: CallUsage = { input: 30, cached: 10, cacheWritten: null, output: 20, reasoning: 5 }
const below = (field: string, fields: object) => [field, ...Object.keys(fields).map((name) => `${field}.${name}`)]
const openai = ["prompt_tokens_details.cached_tokens", "completion_tokens_details.reasoning_tokens"]
const choice = (index: number) => ({ index, message: { content: "Words", refusal: null }, finish_reason: "stop" })
const candidate = { content: { parts: [{ text: "Words" }] }, finishReason: "STOP" }

const spoken: Readonly<Record<CallProtocol, Spoken>> = {
  openai_chat: {
    path: "/chat/completions",
    whole: { id: "x", error: null, choices: [choice(0), choice(1), choice(2)], usage: chatUsage },
    events: [
      { choices: [{ delta: { content: "Words" }, finish_reason: null }], usage: null },
      { error: null, choices: [{ delta: {}, finish_reason: "stop" }], usage: chatUsage }
    ],
    at: 1,
    usage,
    list: ["choices", ["message", "message.content", "message.refusal", "finish_reason", "index"]],
    fields: ["id", "error", ...below("usage", chatUsage), ...openai.map((each) => `usage.${each}`)],
    ofEvent: ["error", "choices", ...below("usage", chatUsage)]
  },
  openai_responses: {
    path: "/responses",
    whole: {
      object: "response",
      status: "completed",
      error: null,
      incomplete_details: null,
      output: [{ type: "reasoning" }, { type: "message", content: [{ text: "Words" }] }, { type: "message" }],
      usage: named
    },
    events: [
      { type: "response.created", response: { output: [], usage: null, error: null } },
      { type: "response.output_text.delta", delta: "Words" },
      { type: "response.completed", response: { status: "completed", error: null, output: [{}], usage: named } }
    ],
    at: 2,
    usage,
    list: ["output", ["type", "content"]],
    fields: ["status", "error", "incomplete_details", "object", ...below("usage", named)],
    ofEvent: ["type", "response", "response.status", "response.error", ...below("response.usage", named)]
  },
  anthropic_messages: {
    path: "/messages",
    whole: {
      type: "message",
      content: [{ type: "text", text: "a" }, { type: "tool_use", name: "t" }, { type: "text" }],
      stop_reason: "end_turn",
      usage: anthropic
    },
    events: [
      { type: "message_start", message: { content: [], usage: anthropic } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 20 } },
      { type: "message_stop" }
    ],
    at: 1,
    usage: { ...usage, cacheWritten: 5, reasoning: null },
    list: ["content", ["type", "text", "name"]],
    fields: ["type", "stop_reason", ...below("usage", anthropic)],
    ofEvent: ["type", "delta", "delta.stop_reason", "usage", "usage.output_tokens"]
  },
  gemini: {
    path: "/models/m:generateContent",
    whole: { candidates: [candidate, candidate, candidate], promptFeedback: {}, usageMetadata: google },
    events: [
      { candidates: [{ content: candidate.content }], usageMetadata: google },
      { candidates: [candidate], usageMetadata: google }
    ],
    at: 1,
    usage,
    list: ["candidates", ["content", "finishReason"]],
    fields: ["promptFeedback", ...below("usageMetadata", google)],
    ofEvent: ["candidates", ...below("usageMetadata", google)]
  }
}

const eventsOf = (events: ReadonlyArray<string>) => events.map((event) => `data: ${event}\n\n`).join("")

/** A change of the text of one event. */
const inEvent =
  ({ at, events }: Spoken) =>
  ({ apply, kind, name }: Change): Change => ({
    name: `of an event: ${name}`,
    kind,
    apply: (answer) => ({
      ...answer,
      text: eventsOf(
        events.map((event, index) => {
          const text = JSON.stringify(event)
          return index === at ? apply({ ...answer, text }).text : text
        })
      )
    })
  })

const withHeader = (name: string, value: string): Change => ({
  name: `429 with ${name} ${value}`.slice(0, 80),
  kind: "lost",
  apply: (answer) => ({
    ...answer,
    status: 429,
    headers: { ...answer.headers, [name]: value },
    text: '{"error":{"message":"Too many"}}'
  })
})

const pauses = ["7", "-5", "1e9", "soon", "9".repeat(12), "9".repeat(400), "Infinity", "Fri, 31 Dec 9999 23:59:59 GMT"]
const ofHeaders = ["retry-after", "retry-after-ms"].flatMap((name) => pauses.map((value) => withHeader(name, value)))

const figures: ReadonlyArray<Change> = ["-1", "1.5", "1e400", "9".repeat(30), "9007199254740991", "NaN"].map(
  (figure) => ({
    name: `each figure is ${figure.slice(0, 20)}`,
    kind: "element",
    apply: (answer) => ({
      ...answer,
      text: answer.text.replaceAll(/(?<=(?:tokens|Count)":)\d+/g, figure)
    })
  })
)

const errors: ReadonlyArray<Change> = ['"Refused"', '{"message":"No \\u001b[31m\\u202e"}', '{"code":"429"}', "[7]"].map(
  (error) => ({
    name: `an error within 200: ${error}`,
    kind: "lost",
    apply: (answer) => ({ ...answer, text: `{"error":${error}}` })
  })
)

/** A sentence for people, or none. */
const isSaid = (words: string | null): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in words.
  words === null || (words !== "" && words.length <= 510 && !/[\u0000-\u001f\u202e]/.test(words))

const dayMs = 24 * 60 * 60_000

/** The faults of the record of a call. */
const judged = (call: ModelCall, { kind, name }: Change, truth: CallUsage): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const { lack, outcome, pauseMs, words } = call
  for (const [figure, said] of Object.entries(call.usage ?? {})) {
    const expected = Object.entries(truth).find(([each]) => each === figure)?.[1]
    // Of the parts of a figure, one that cannot be read is left out.
    const isPart = typeof said === "number" && typeof expected === "number" && said <= expected && said >= 0
    if (said !== null && !isPart) problems.push(`${figure} is ${said}`)
  }
  if (!isSaid(words)) problems.push(`the words are no sentence: ${JSON.stringify(words)}`)
  if (pauseMs !== null && !(pauseMs >= 0 && pauseMs <= 31 * dayMs)) problems.push(`a pause of ${pauseMs} ms`)
  if (kind === "lost" && outcome === "answered") problems.push("nothing was told, and it counts as answered")
  const asThere = JSON.stringify(call.usage) === JSON.stringify(truth) && outcome === "answered" && lack === null
  if (kind === "same" && !asThere) problems.push(`the truth is lost: ${outcome}, ${JSON.stringify(call.usage)}`)
  const isError = /error/.test(name) && !/""|in a list/.test(name)
  if (kind === "element" && outcome === "refused" && !isError) problems.push("an odd element is an error")
  if (lack !== null && !/refusal|incomplete/.test(name)) problems.push(`an odd element is ${lack}`)
  return problems
}

describe("the world of gateways", () => {
  for (const [protocol, said] of Object.entries(spoken)) {
    it.scopedLive(`answers in ${protocol}`, () =>
      Effect.gen(function* () {
        const [list, fields] = said.list
        const ofWhole = [
          ...changesOfElement([list], 1, fields),
          ...said.fields.flatMap((field) => changesOfField(field.split("."))),
          // The usage is told also where the list is not there.
          ...changesOfAnswer([list]).map((each) =>
            each.name.startsWith("the list is") ? { ...each, kind: "element" as const } : each
          ),
          ...errors
        ]
        const ofEvent = [...said.ofEvent.flatMap((field) => changesOfField(field.split("."))), ...figures]
        const changes = [...ofWhole, ...figures, ...ofHeaders, ...ofEvent.map(inEvent(said))]
        const isEvents = ({ name }: Change) => name.startsWith("of an event")
        const speaker = yield* openSpeaker(({ body }): Said => {
          const { stream } = JSON.parse(body)
          const events = said.events.map((event) => JSON.stringify(event))
          return stream
            ? { status: 200, headers: { "content-type": "text/event-stream" }, text: eventsOf(events) }
            : { ...inJson, text: JSON.stringify(said.whole) }
        })
        let next = Deferred.unsafeMake<ModelCall>(FiberId.none)
        let told = 0
        const ended = (call: ModelCall) => {
          told += 1
          Deferred.unsafeDone(next, Effect.succeed(call))
        }
        const { token, url } = yield* lentTo(`${speaker.url}/v1`, undefined, { refusal: () => undefined, ended })
        const { tried, wrong } = yield* tryBorder({
          name: `gateways: the answers of ${protocol}`,
          changes,
          ask: (change) =>
            Effect.gen(function* () {
              speaker.change = change
              next = Deferred.unsafeMake<ModelCall>(FiberId.none)
              told = 0
              const body = JSON.stringify({ model: "m", stream: isEvents(change) })
              const got = yield* Effect.either(
                ask(`${url}${said.path}`, { method: "POST", headers: bearer(token), body })
              )
              const call = yield* Deferred.await(next)
              const plain = isEvents(change)
                ? { ...inJson, text: eventsOf(said.events.map((event) => JSON.stringify(event))) }
                : { ...inJson, text: JSON.stringify(said.whole) }
              const sent: Said = change.apply(plain)
              const problems = [...judged(call, change, said.usage)]
              if (told !== 1) problems.push(`told ${told} times`)
              if (sent.cut === undefined && sent.status !== 307) {
                const passed = Either.isRight(got) ? got.right.body.toString() : "nothing"
                if (passed !== sent.text) problems.push(`not passed on as it is: ${passed.slice(0, 100)}`)
              } else if (sent.cut !== undefined && Either.isRight(got)) problems.push("the break is not seen")
              return problems
            })
        })
        assert.deepStrictEqual(wrong, [])
        assert.isAbove(tried, 150)
      }).pipe(Effect.provide(services))
    )
  }
})
