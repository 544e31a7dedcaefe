import { foreignName } from "@reins/base/base/ForeignText"
import type { AnswerLack, CallProtocol, CallUsage } from "./ModelCall.js"

/** The wanted values of one document of an answer, by their paths. */
type Found = ReadonlyMap<string, unknown>

/** The way in which the answers of a protocol say what a witness wants to know. */
export interface CallDialect {
  /** The paths that its documents are read for. */
  readonly values: ReadonlyArray<string>
  readonly marks: ReadonlyArray<string>
  /** The paths among `values` with a word for the end of the answer. */
  readonly ends: ReadonlyArray<string>
  /** Those of `ends` whose word is the reason for the end, and no state. */
  readonly finishes: ReadonlyArray<string>
  /** The paths of the name of the model, which are not among `values`. */
  readonly models: ReadonlyArray<string>
  /** The paths among `values` whose presence says that the answer was withheld. */
  readonly refusals: ReadonlyArray<string>
  /** True when the document belongs to an answer of a model. */
  readonly isAnswer: (found: Found) => boolean
  /** True when the answer is whole with this document. A document that is no event of a stream is always whole. */
  readonly isEnd: (found: Found) => boolean
  /** The usage so far; undefined when the document says nothing. Later documents say it anew. */
  readonly usage: (found: Found) => Partial<ToldUsage> | undefined
  /** The error that the document tells of; undefined when it tells of none. */
  readonly error: (found: Found) => unknown
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const at = (value: unknown, ...keys: ReadonlyArray<string>): unknown =>
  keys.reduce((found, key) => (isRecord(found) ? found[key] : undefined), value)

/** The most tokens that a call may cost. A higher figure is none: no model reads as many. */
const mostTokens = 1_000_000_000

/** A number of tokens; null for anything else. */
const tokens = (value: unknown): number | null =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= mostTokens ? value : null

/** The sum of the figures that are known; null when none is. */
const sum = (...figures: ReadonlyArray<number | null>): number | null =>
  figures.reduce((total, figure) => (figure === null ? total : (total ?? 0) + figure), null)

/** The usage as documents tell it. A protocol may tell the uncached part of the input in place of the whole. */
export interface ToldUsage extends CallUsage {
  readonly uncached: number | null
}

/** The usage before the first document. */
export const untold: ToldUsage = {
  input: null,
  uncached: null,
  cached: null,
  cacheWritten: null,
  output: null,
  reasoning: null
}

/** The usage with the whole input. */
export const wholeUsage = ({ uncached, ...usage }: ToldUsage): CallUsage => ({
  ...usage,
  input: uncached === null ? usage.input : sum(uncached, usage.cached, usage.cacheWritten)
})

/** The usage without its unknown figures; undefined when all are unknown. */
const known = (usage: Partial<ToldUsage>): Partial<ToldUsage> | undefined => {
  const figures = Object.entries(usage).filter(([, figure]) => figure !== null)
  return figures.length === 0 ? undefined : Object.fromEntries(figures)
}

const chatRefusals = ["choices/*/message/refusal", "choices/*/delta/refusal"]

const chat: CallDialect = {
  values: ["usage", "x_groq/usage", "error", "choices/*/finish_reason", ...chatRefusals],
  ends: ["choices/*/finish_reason"],
  finishes: ["choices/*/finish_reason"],
  models: ["model"],
  refusals: chatRefusals,
  marks: ["choices"],
  isAnswer: (found) => found.has("choices") || found.has("usage"),
  isEnd: (found) => found.has("choices/*/finish_reason"),
  error: (found) => found.get("error"),
  usage: (found) => {
    const usage = found.get("usage") ?? found.get("x_groq/usage")
    return known({
      input: tokens(at(usage, "prompt_tokens")),
      cached:
        tokens(at(usage, "prompt_tokens_details", "cached_tokens")) ?? tokens(at(usage, "prompt_cache_hit_tokens")),
      output: tokens(at(usage, "completion_tokens")),
      reasoning: tokens(at(usage, "completion_tokens_details", "reasoning_tokens"))
    })
  }
}

/** The types of the last event of a stream of responses. */
const responseEnds: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"])

const responseLacks = ["status", "response/status", "incomplete_details/reason", "response/incomplete_details/reason"]

const responses: CallDialect = {
  values: [
    "type",
    "usage",
    "error",
    "code",
    "message",
    "response/usage",
    "response/error",
    "refusal",
    ...responseLacks
  ],
  ends: responseLacks,
  finishes: ["incomplete_details/reason", "response/incomplete_details/reason"],
  models: ["response/model", "model"],
  refusals: ["refusal"],
  marks: ["output", "response"],
  isAnswer: (found) =>
    found.has("output") || found.has("response") || /^response\./.test(String(found.get("type") ?? "")),
  isEnd: (found) => responseEnds.has(found.get("type")),
  error: (found) =>
    found.get("response/error") ??
    found.get("error") ??
    (found.get("type") === "error" ? { code: found.get("code"), message: found.get("message") } : undefined),
  usage: (found) => {
    const usage = found.get("response/usage") ?? found.get("usage")
    return known({
      input: tokens(at(usage, "input_tokens")),
      cached: tokens(at(usage, "input_tokens_details", "cached_tokens")),
      output: tokens(at(usage, "output_tokens")),
      reasoning: tokens(at(usage, "output_tokens_details", "reasoning_tokens"))
    })
  }
}

const messages: CallDialect = {
  values: ["type", "usage", "error", "message/usage", "stop_reason", "delta/stop_reason"],
  ends: ["stop_reason", "delta/stop_reason"],
  finishes: ["stop_reason", "delta/stop_reason"],
  models: ["message/model", "model"],
  refusals: [],
  marks: ["content", "message"],
  isAnswer: (found) => found.has("content") || /^(?:message|content_block)_/.test(String(found.get("type") ?? "")),
  isEnd: (found) => found.get("type") === "message_stop",
  error: (found) => found.get("error"),
  usage: (found) => {
    const usage = found.get("usage") ?? found.get("message/usage")
    return known({
      uncached: tokens(at(usage, "input_tokens")),
      cached: tokens(at(usage, "cache_read_input_tokens")),
      cacheWritten: tokens(at(usage, "cache_creation_input_tokens")),
      output: tokens(at(usage, "output_tokens"))
    })
  }
}

/** Gemini answers with one document, with events, or with an array of the events. */
const gemini: CallDialect = {
  values: ["", "*/"].flatMap((place) => [
    `${place}usageMetadata`,
    `${place}error`,
    `${place}candidates/*/finishReason`,
    `${place}promptFeedback/blockReason`
  ]),
  ends: ["", "*/"].flatMap((place) => [`${place}candidates/*/finishReason`]),
  finishes: ["candidates/*/finishReason", "*/candidates/*/finishReason"],
  models: ["modelVersion", "*/modelVersion"],
  refusals: ["promptFeedback/blockReason", "*/promptFeedback/blockReason"],
  marks: ["candidates", "*/candidates"],
  isAnswer: (found) =>
    ["candidates", "usageMetadata", "promptFeedback/blockReason"].some(
      (path) => found.has(path) || found.has(`*/${path}`)
    ),
  isEnd: (found) => found.has("candidates/*/finishReason") || found.has("promptFeedback/blockReason"),
  error: (found) => found.get("error") ?? found.get("*/error"),
  usage: (found) => {
    const usage = found.get("usageMetadata") ?? found.get("*/usageMetadata")
    const thoughts = tokens(at(usage, "thoughtsTokenCount"))
    return known({
      input: sum(tokens(at(usage, "promptTokenCount")), tokens(at(usage, "toolUsePromptTokenCount"))),
      cached: tokens(at(usage, "cachedContentTokenCount")),
      output: sum(tokens(at(usage, "candidatesTokenCount")), thoughts),
      reasoning: thoughts
    })
  }
}

/** The dialects by their protocols. */
export const dialects: Readonly<Record<CallProtocol, CallDialect>> = {
  openai_chat: chat,
  openai_responses: responses,
  anthropic_messages: messages,
  gemini
}

/** The words of all protocols, and of gateways behind them, for an answer that ended at its longest length. */
const cutWords: ReadonlySet<string> = new Set([
  "length",
  "max_tokens",
  "max_output_tokens",
  "max_completion_tokens",
  "model_length",
  "model_context_window_exceeded",
  "incomplete"
])

/** Their words for an answer that was withheld. */
const withheldWords: ReadonlySet<string> = new Set([
  "content_filter",
  "content_filtered",
  "refusal",
  "sensitive",
  "safety",
  "image_safety",
  "recitation",
  "blocklist",
  "prohibited_content",
  "spii",
  "guardrail_intervened"
])

const isWord = (words: ReadonlySet<string>) => (value: unknown) =>
  typeof value === "string" && words.has(value.toLowerCase())

/** Tells how a document says that the answer is less than what the model would have said; null when it does not. */
export const answerLack = ({ ends, refusals }: CallDialect, found: Found): AnswerLack | null => {
  const said = ends.map((path) => found.get(path))
  const refused = refusals.map((path) => found.get(path)).some((value) => typeof value === "string" && value !== "")
  if (refused || said.some(isWord(withheldWords))) return "withheld"
  return said.some(isWord(cutWords)) ? "cut" : null
}

/** The statuses that errors within an answer stand for. Protocols name them by a type or a code. */
const statuses: ReadonlyArray<readonly [RegExp, number]> = [
  [/authentication|invalid_api_key|unauthenticated/i, 401],
  [/billing|insufficient_quota|payment/i, 402],
  [/permission/i, 403],
  [/rate_limit|resource_exhausted|too_many/i, 429],
  [/overloaded|unavailable/i, 529],
  [/invalid_|not_found|failed_precondition|context_length|content_filter|too_large|unsupported/i, 400]
]

const isStatus = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599

/** The HTTP status that an error within an answer stands for; 500 where it says nothing. */
export const statusOfError = (error: unknown): number => {
  const code = at(error, "code")
  if (isStatus(Number(code))) return Number(code)
  const name = [at(error, "type"), code, at(error, "status")].filter((each) => typeof each === "string").join(" ")
  return statuses.find(([pattern]) => pattern.test(name))?.[1] ?? 500
}

/** The words of an error, as gateways put them; null when there are none. */
export const wordsOfError = (error: unknown): string | null => {
  const words = [error, at(error, "message"), at(error, "error"), at(error, "error", "message"), at(error, "detail")]
  const said = words.flatMap((each) => (typeof each === "string" ? [foreignName(each, longestWords)] : []))
  return said.find((each) => each !== "") ?? null
}

/** The names by which an error calls itself, as its type and its code, in the forms of all protocols. */
export const namesOfError = (error: unknown): string =>
  [error, at(error, "error"), at(error, "error", "error"), at(error, "error", "innererror"), at(error, "innererror")]
    .flatMap((place) => ["type", "code", "status"].map((key) => at(place, key)))
    .filter((name): name is string => typeof name === "string" && name.length <= longestName)
    .join(" ")

const longestName = 200
const longestWords = 500

/** The pause that the details of an error ask for, as `35.5s`; null when there is none. */
export const delayInError = (error: unknown): string | null => {
  const details = at(error, "error", "details")
  const delay = (Array.isArray(details) ? details : []).map((each) => at(each, "retryDelay"))
  return delay.find((each): each is string => typeof each === "string") ?? null
}
