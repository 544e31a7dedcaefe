import { cutEnd, cutText } from "@reins/base/base/CutText"
import { endsOf, type ForeignText } from "@reins/base/base/ForeignText"
import { HarnessFailure } from "../HarnessEvent.js"
import type { FailureReason, Runtime } from "../Manifest.js"
import { modelRefusal } from "../ModelRefusals.js"
import type { AgentInput } from "../TurnInput.js"
import type { ErrorRule } from "./AcpSettings.js"
import type { RpcError } from "./JsonRpc.js"
import { valueAt } from "./ValueAt.js"

const quotedLength = 500

/** So much of the words of an agent is looked at. */
const mostHeard = 16 * 1024

/** The words of an agent, as far as they are looked at: what is wrong often stands last. */
export const heard = (text: string): ForeignText => endsOf(text, mostHeard)

interface Verdict {
  readonly reason: FailureReason
  readonly retryable: boolean
}

/** The meaning of the status with which a gateway refuses a model call. */
export const byStatus = (status: number): Verdict => {
  if (status === 401 || status === 403) return { reason: "credential_invalid", retryable: false }
  if (status === 402) return { reason: "quota_exhausted", retryable: false }
  if (status === 429) return { reason: "quota_exhausted", retryable: true }
  return { reason: "upstream_error", retryable: status >= 500 || status === 408 }
}

/** Rules for agents that report the words of a provider without its status. The first match wins. */
const common: ReadonlyArray<ErrorRule> = [
  { pattern: "insufficient|quota|credit|billing|payment required", reason: "quota_exhausted", retryable: false },
  { pattern: "rate.?limit|too many requests", reason: "quota_exhausted", retryable: true },
  {
    pattern: "api.?key|unauthori[sz]ed|authenticat|forbidden|invalid credential|permission denied",
    reason: "credential_invalid",
    retryable: false
  }
]

const statusOf = (text: ForeignText): number | undefined => {
  const match = /\b(?:http|status(?: code)?:?) (4\d\d|5\d\d)\b/i.exec(text)
  return match?.[1] === undefined ? undefined : Number(match[1])
}

const judge = (text: ForeignText, rules: ReadonlyArray<ErrorRule>): Verdict => {
  const matching = (rule: ErrorRule) => new RegExp(rule.pattern, "i").test(text)
  const declared = rules.find(matching)
  if (declared !== undefined) return declared
  const status = statusOf(text)
  const { isCertain, reason } = modelRefusal({ status: status ?? null, names: "", words: text })
  if (isCertain && ofTheRequest.has(reason)) return { reason, retryable: false }
  if (status !== undefined) return byStatus(status)
  return common.find(matching) ?? unknown
}

/** The reasons that lie in what was asked, for which nothing else has to be right. */
const ofTheRequest: ReadonlySet<FailureReason> = new Set(["context_exceeded", "answer_withheld"])

/** The verdict on words that no rule knows. */
const unknown: Verdict = { reason: "upstream_error", retryable: true }

const advice = (verdict: Verdict, input: AgentInput, runtime: Runtime): string => {
  const kind = input.manifest.credential?.connection_kind ?? "provider"
  switch (verdict.reason) {
    case "credential_invalid":
      return input.connection === null
        ? `${runtime.agent.name} has no credentials of its own: give the session a connection of the kind ${kind}.`
        : "The gateway refused the credential: post a new credential version to the connection."
    case "quota_exhausted":
      return "The gateway's limit is used up: wait or raise the limit, then retry the turn."
    case "context_exceeded":
      return "The conversation is too long for the model: start a new session, or choose a model with a longer context."
    case "answer_withheld":
      return "Say it in another way, or choose another model."
    default:
      return verdict.retryable
        ? "Retry the turn; if it fails again, check the gateway."
        : "Check the model and the gateway, then retry."
  }
}

/** Foreign words, as one sentence. */
const quote = (text: string, most = quotedLength): string =>
  text.length > most ? `${cutText(text, most)}…` : `${text.replace(/(?<![.\s])[.\s]+$/, "")}.`

/** The agent that a report is about. */
export interface Reporting {
  readonly input: AgentInput
  readonly runtime: Runtime
  readonly settings: { readonly errors: ReadonlyArray<ErrorRule> }
}

/** The failure for an agent's report of a failed model call. */
export const reported = (text: ForeignText, { input, runtime, settings }: Reporting): HarnessFailure => {
  const verdict = judge(text, settings.errors)
  return new HarnessFailure({
    ...verdict,
    message: `${runtime.agent.name} could not go on: ${quote(text)} ${advice(verdict, input, runtime)}`
  })
}

/** The text of an error answer in one line. Agents put what matters into its data, as a text or below one of two names. */
export const rpcText = (error: RpcError): ForeignText => {
  const told = [error.data, valueAt(error.data, ["details"]), valueAt(error.data, ["message"])].find(
    (each) => typeof each === "string" && each.trim() !== ""
  )
  return heard(typeof told === "string" && !error.message.includes(told) ? `${error.message}: ${told}` : error.message)
}

export const executorUnavailable = (message: string, retryable: boolean): HarnessFailure =>
  new HarnessFailure({ reason: "executor_unavailable", message, retryable })

/** The failure for an agent that has ended by itself. `reason` is a sentence of its executor. */
export const crashed = (runtime: Runtime, how: string, reason?: string): HarnessFailure =>
  new HarnessFailure({
    reason: "harness_crashed",
    message: `${runtime.agent.name} ended in the middle of the turn (${how}).${reason === undefined ? "" : ` ${reason}`} Its native session is kept: retry the turn.`,
    retryable: true
  })

const startLength = 300
const endLength = 700

/** Foreign words of any length, as their beginning and their end: what is wrong often stands last. */
const quoteEnds = (text: ForeignText): string =>
  text.length > startLength + endLength + 3
    ? quote(`${cutText(text, startLength)} … ${cutEnd(text, endLength)}`, Number.POSITIVE_INFINITY)
    : quote(text, Number.POSITIVE_INFINITY)

const lastWordsOf = (words: ForeignText): string => (words === "" ? "" : ` Its last words: ${quoteEnds(words)}`)

/** Words about something that passes by itself. */
const passing =
  /timed? ?out|\bE(?:CONN|AI_AGAIN|NOTFOUND|PIPE|BUSY|MFILE|NOSPC)|unavailable|temporar|network|socket|overloaded|\block(?:ed)?\b/i

/** The failure of an agent that ended before it had opened its session. The same start ends in the same way, unless something stopped it. */
export const endedAtStart = (
  runtime: Runtime,
  { byItself, how, reason }: { readonly how: string; readonly byItself: boolean; readonly reason: string | undefined },
  words: ForeignText
): HarnessFailure => {
  const retryable = !byItself || reason !== undefined || words === "" || passing.test(words)
  const advice = retryable ? "Retry the turn." : "Mend what it names, then send the message again."
  return new HarnessFailure({
    reason: "harness_crashed",
    message: `${runtime.agent.name} ended while it started (${how}).${reason === undefined ? "" : ` ${reason}`}${lastWordsOf(words)} ${advice}`,
    retryable
  })
}

/** The failure for an error answer of an agent that could not open its session. */
export const notStarted = (text: ForeignText, words: ForeignText, agent: Reporting): HarnessFailure => {
  const isDeclared = agent.settings.errors.some(({ pattern }) => new RegExp(pattern, "i").test(text))
  const isKnown = judge(text, agent.settings.errors) !== unknown || passing.test(text)
  // No model was asked yet, so what no rule knows is about the agent itself. A file of settings may hold any word that a rule looks for.
  if (isDeclared || (isKnown && !aboutSettings.test(text))) return reported(text, agent)
  const told = isBare(text) ? lastWordsOf(words) : ""
  return new HarnessFailure({
    reason: "executor_unavailable",
    message: `${agent.runtime.agent.name} could not start: ${quoteEnds(text)}${told} Mend what it names, then send the message again.`,
    retryable: false
  })
}

const aboutSettings = /\b(?:config\w*|settings?|toml|jsonc?|ya?ml|pars(?:e|er|ing)|line \d+)\b/i

/** True for an error answer that says little more than that there was an error. */
export const isBare = (text: ForeignText): boolean => text.length <= bareLength

const bareLength = 24

export const timedOut = (runtime: Runtime, what: string, words: ForeignText = heard("")): HarnessFailure =>
  new HarnessFailure({
    reason: "timeout",
    message: `${runtime.agent.name} ${what}.${lastWordsOf(words)} It was stopped; retry the turn.`,
    retryable: true
  })

export const noOutput = (runtime: Runtime): HarnessFailure =>
  new HarnessFailure({
    reason: "output_invalid",
    message: `${runtime.agent.name} ended its turn without any words or finished tools. Check the model, then retry.`,
    retryable: true
  })

export const protocolBroken = (runtime: Runtime, method: string): HarnessFailure =>
  new HarnessFailure({
    reason: "output_invalid",
    message: `${runtime.agent.name} answered ${method} in a form that its protocol does not allow. Install the pinned version again.`,
    retryable: false
  })

/** The agent cannot do what the session is set to. */
export const notOffered = (runtime: Runtime, what: string): HarnessFailure =>
  new HarnessFailure({
    reason: "executor_unavailable",
    message: `${runtime.agent.name} ${what}. Change the session, then retry the turn.`,
    retryable: false
  })

export const contextUnavailable = (runtime: Runtime, text: ForeignText): HarnessFailure =>
  new HarnessFailure({
    reason: "context_unavailable",
    message: `${runtime.agent.name} cannot resume its native session: ${quote(text)} Switch the harness to go on with a summary in a new session.`,
    retryable: false
  })
