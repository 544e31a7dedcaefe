import type { HarnessFailure, StopReason } from "@reins/machine/harness/HarnessEvent"
import { htmlPage, type ModelRefusal, modelRefusal } from "@reins/machine/harness/ModelRefusals"
import { isFailing, type ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import { mostFailingCalls, refusalOfCall, type Testimony } from "../run/Witness.js"
import type { TurnProblem } from "../setup/TurnWork.js"

/** The failures in which an agent tells, in words of its own, of the calls that the relay has seen. */
const retold: ReadonlySet<string> = new Set([
  "credential_invalid",
  "quota_exhausted",
  "upstream_error",
  "output_invalid",
  "harness_crashed"
])

/**
 * The problem that the model calls of a turn prove, whatever its agent says of it: it was ended because its calls failed again and again,
 * or all of them failed, or the last one that was to do its work failed while the agent calls the turn a success. Undefined when they
 * prove nothing, and when the agent's own failure says the same with more words.
 */
export const verdictOn = (testimony: Testimony, failure: HarnessFailure | undefined): TurnProblem | undefined => {
  const { calls, failing, gaveUpFor, lastFailing, lastWork } = testimony
  if (lastFailing === undefined) return undefined
  if (gaveUpFor === "failing")
    return problemOf(
      lastFailing,
      `${mostFailingCalls} model calls in a row failed, so the agent was stopped. The last one: `
    )
  if (gaveUpFor !== undefined) return problemOf(lastFailing)
  // An agent retells a refusal in its own words, and advises to try again.
  if (failure !== undefined && retold.has(failure.reason) && lastWork !== undefined && isPlain(lastWork))
    return problemOf(lastWork)
  if (failing === calls) {
    const isOneReason = calls === 1 || isPlain(lastFailing)
    const problem = problemOf(
      lastFailing,
      isOneReason ? "" : `All ${calls} model calls of the turn failed. The last one: `
    )
    return failure === undefined || (retold.has(failure.reason) && contradicts(lastFailing, problem, failure))
      ? problem
      : undefined
  }
  return failure === undefined && lastWork !== undefined && isFailing(lastWork)
    ? problemOf(lastWork, "The agent called the turn done, but its last model call failed. ")
    : undefined
}

/**
 * The problem of a turn whose last answer was not the whole answer of a model, in a turn that its agent has ended properly. Undefined for every
 * other one. `stopReason` is the agent's own word.
 */
export const lackProblem = (
  { lastWork }: Testimony,
  failure: HarnessFailure | undefined,
  stopReason: StopReason | undefined
): TurnProblem | undefined => {
  // An agent that heard nothing of a withheld answer says that its turn had no output.
  if (failure !== undefined && failure.reason !== "output_invalid") return undefined
  if (stopReason === "cancelled" || stopReason === "denied") return undefined
  const lack = lastWork?.lack
  if (lack === "cut")
    return {
      reason: "answer_cut",
      message:
        "The last answer of the model was cut at its longest length. The work so far is kept. Ask the agent to go on, or ask for less at once."
    }
  if (lack === "withheld")
    return {
      reason: "answer_withheld",
      message:
        "The last answer of the model was withheld by a filter, or the model refused it. The work so far is kept. Say it in another way, or choose another model."
    }
  if (failure !== undefined) return undefined
  if (stopReason === "limit")
    return {
      reason: "answer_cut",
      message:
        "The agent stopped at a limit: the length of an answer, or its number of model calls. The work so far is kept. Ask the agent to go on."
    }
  return stopReason === "refused"
    ? {
        reason: "answer_withheld",
        message: "The model refused to go on. The work so far is kept. Say it in another way, or choose another model."
      }
    : undefined
}

/** True for a refusal whose words leave no doubt about its reason, and that no repetition mends. */
const isPlain = (call: ModelCall): boolean => {
  const refusal = refusalOfCall(call)
  return refusal?.isCertain === true && !refusal.passes
}

/** True when the agent names another reason than the status of the gateway, where that status is clear enough. */
const contradicts = (call: ModelCall, { reason }: TurnProblem, failure: HarnessFailure): boolean => {
  const status = statusOf(call)
  return reason !== failure.reason && (status >= 500 || [401, 402, 403, 429].includes(status))
}

/** The status of a failed call. One without a refusal counts as a bad gateway. */
const statusOf = ({ outcome, status }: ModelCall): number => (outcome === "refused" ? (status ?? 500) : 502)

const badGateway: ModelRefusal = modelRefusal({ status: 502, names: "", words: "" })

const problemOf = (call: ModelCall, beginning = ""): TurnProblem => {
  const refusal = refusalOfCall(call) ?? badGateway
  return { reason: refusal.reason, message: `${beginning}${told(call)}${pauseOf(call)} ${adviceOn(call, refusal)}` }
}

/** The end of a failed call, in words. */
const told = ({ names, outcome, status, words }: ModelCall): string => {
  const said = words === null ? "." : `: ${withoutEnd(words)}.`
  switch (outcome) {
    case "refused":
      return `The gateway answered ${status ?? "with an error"}${names === htmlPage ? " with a page of HTML." : said}`
    case "broken_off":
      return "The gateway broke off in the middle of its answer."
    case "garbled":
      return "The gateway's answer was none that the protocol knows."
    default:
      return words ?? "The gateway did not answer."
  }
}

/** Words without the stops and spaces at their end. */
const withoutEnd = (words: string): string => {
  let end = words.length
  while (end > 0 && ". \n\t".includes(words.charAt(end - 1))) end--
  return words.slice(0, end)
}

const minuteMs = 60_000

/** The pause that the gateway asks for, where it is long. */
const pauseOf = ({ pauseMs }: ModelCall): string => {
  if (pauseMs === null || pauseMs < minuteMs) return ""
  const minutes = Math.ceil(pauseMs / minuteMs)
  const words = minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`
  return ` It asks for a pause of ${words}.`
}

const adviceOn = ({ outcome }: ModelCall, { advice }: ModelRefusal): string =>
  outcome === "unreachable" ? "Then retry the turn." : advice
