import { type RefusalRow, refusalOf } from "@reins/base/base/RefusalTable"
import type { FailureReason } from "./Manifest.js"

/** The refusal of a model call, as far as it is known. */
export interface GivenRefusal {
  /** The HTTP status; null where nothing names one. */
  readonly status: number | null
  /** The names that the gateway gives its error by, as its type and its code. */
  readonly names: string
  /** The words of the gateway for people. */
  readonly words: string
}

/** The meaning of a refusal. */
export interface ModelRefusal {
  readonly reason: FailureReason
  /** True where the same request may be answered later without a change. */
  readonly passes: boolean
  /** True where the names or the words say it, and not the status alone. */
  readonly isCertain: boolean
  /** A sentence for a person: the thing to do next. */
  readonly advice: string
}

/** The name of a refusal that is a page of HTML. No gateway sends one, so another server has answered in its place. */
export const htmlPage = "text/html"

type Row = RefusalRow<FailureReason>

/** The refusals of gateways by their names or their words. The first name that fits counts, and then the first words. */
const said: ReadonlyArray<Row> = [
  {
    status: [413],
    is: "context_exceeded",
    mender: "person",
    say: "Start a new session, or send smaller messages and files.",
    names: [""]
  },
  {
    status: [400, 401, 403, 404, 405],
    is: "upstream_error",
    mender: "person",
    say: "Check the connection's base_url, and the proxies on the way to it.",
    names: [htmlPage]
  },
  {
    is: "context_exceeded",
    mender: "person",
    say: "Start a new session, let the agent compact this one, or choose a model with a longer context.",
    names: ["context_length_exceeded", "context_window_exceeded", "request_too_large", "string_above_max_length"],
    words: [
      "maximum context length",
      "context length",
      "context window",
      "context size",
      "prompt is too long",
      "input is too long",
      "request too large",
      "request entity too large",
      "reduce the length of the messages",
      ["input token", "exceeds"],
      ["exceed", "maximum", "tokens allowed"],
      ["tokens", "exceeds the limit"]
    ]
  },
  {
    is: "answer_withheld",
    mender: "person",
    say: "Say it in another way, or choose another model.",
    names: ["content_filter", "content_policy", "responsibleaipolicyviolation"],
    words: ["content management policy", "content policy", "usage policies", "content filter"]
  },
  {
    is: "quota_exhausted",
    mender: "person",
    say: "Add credit or raise the limit at the gateway, then retry the turn.",
    names: ["insufficient_quota", "billing", "insufficient_balance", "payment_required", "credit"],
    words: [
      "exceeded your current quota",
      "credit balance",
      "insufficient balance",
      "insufficient credits",
      "insufficient quota",
      "out of credits",
      "payment required",
      "billing"
    ]
  },
  {
    is: "quota_exhausted",
    mender: "time",
    say: "Wait or raise the limit at the gateway, then retry the turn.",
    names: ["rate_limit", "resource_exhausted", "too_many_requests"],
    words: ["rate limit", "rate-limit", "ratelimit", "too many requests"]
  },
  {
    is: "credential_invalid",
    mender: "person",
    say: "Post a new credential version to the connection, then retry the turn.",
    names: ["authentication_error", "invalid_api_key", "unauthenticated", "invalid_authentication"],
    words: ["incorrect api key", "invalid api key", "invalid x-api-key", "api key not valid", "no auth credentials"]
  },
  {
    is: "upstream_error",
    mender: "person",
    say: "Choose another model: the gateway does not offer this one to the connection's key.",
    names: ["model_not_found", "model_not_available", "unsupported_model", "invalid_model", "deploymentnotfound"],
    words: [
      "model not found",
      "unknown model",
      "is not a valid model",
      "no endpoints found",
      "not supported model",
      ["model", "does not exist"],
      ["model", "is not found"],
      ["model", "not available"],
      ["model", "has been deprecated"]
    ]
  },
  {
    is: "upstream_error",
    mender: "time",
    say: "Retry the turn later.",
    names: ["overloaded"],
    words: ["overloaded", "temporarily unavailable", "at capacity"]
  }
]

/** The refusals that say nothing known. */
const byStatus = refusalOf<FailureReason>([
  {
    status: [401, 403],
    is: "credential_invalid",
    mender: "person",
    say: "Post a new credential version to the connection, then retry the turn."
  },
  {
    status: [402],
    is: "quota_exhausted",
    mender: "person",
    say: "Add credit or raise the limit at the gateway, then retry the turn."
  },
  {
    status: [429],
    is: "quota_exhausted",
    mender: "time",
    say: "Wait or raise the limit at the gateway, then retry the turn."
  },
  {
    status: [404, 405, 410],
    is: "upstream_error",
    mender: "person",
    say: "Check the model and the connection's base_url, then retry the turn."
  },
  {
    status: [408, 409, 425],
    is: "upstream_error",
    mender: "time",
    say: "Check the model and the gateway, then retry the turn."
  }
])

const bySaid = refusalOf<FailureReason>([
  ...said.flatMap(({ words: _, ...row }) => (row.names === undefined ? [] : [row])),
  ...said.flatMap(({ names: _, ...row }) => (row.words === undefined ? [] : [row]))
])

/** A gateway in trouble writes anything. Only a refusal of the request itself is read by what it says. */
const isOfRequest = (status: number | null): boolean => status === null || (status >= 400 && status < 500)

/**
 * The meaning of a refusal. Words are looked for only where they can be the gateway's own: a server that fails may quote any. It never fails, and
 * knows of every status whether it passes.
 */
export const modelRefusal = ({ names, status, words }: GivenRefusal): ModelRefusal => {
  const refused = { status: status ?? 0, headers: {}, names, words }
  const certain = isOfRequest(status) ? bySaid(refused, 0) : undefined
  const read = certain ?? byStatus(refused, 0)
  return {
    reason: read?.kind ?? "upstream_error",
    passes: read === undefined ? !(status !== null && status >= 400 && status < 500) : read.mender === "time",
    advice: read?.say ?? "Check the model and the gateway, then retry the turn.",
    isCertain: certain !== undefined
  }
}
