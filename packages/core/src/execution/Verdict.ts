import { byStatus } from "../harness/acp/Failures.js"
import type { HarnessFailure } from "../harness/HarnessEvent.js"
import { isFailing, type ModelCall } from "../relay/gateway/ModelCall.js"
import type { TurnProblem } from "./TurnWork.js"
import { mostFailingCalls, type Testimony } from "./Witness.js"

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
  const { calls, failing, hasGivenUp, lastFailing, lastWork } = testimony
  if (lastFailing === undefined) return undefined
  if (hasGivenUp)
    return problemOf(
      lastFailing,
      `${mostFailingCalls} model calls in a row failed, so the agent was stopped. The last one: `
    )
  if (failing === calls) {
    const problem = problemOf(
      lastFailing,
      calls === 1 ? "" : `All ${calls} model calls of the turn failed. The last one: `
    )
    return failure === undefined || (retold.has(failure.reason) && contradicts(lastFailing, problem, failure))
      ? problem
      : undefined
  }
  return failure === undefined && lastWork !== undefined && isFailing(lastWork)
    ? problemOf(lastWork, "The agent called the turn done, but its last model call failed. ")
    : undefined
}

/** True when the agent names another reason than the status of the gateway, where that status is clear enough. */
const contradicts = (call: ModelCall, { reason }: TurnProblem, failure: HarnessFailure): boolean => {
  const status = statusOf(call)
  return reason !== failure.reason && (status >= 500 || [401, 402, 403, 429].includes(status))
}

/** The status of a failed call. One without a refusal counts as a bad gateway. */
const statusOf = ({ outcome, status }: ModelCall): number => (outcome === "refused" ? (status ?? 500) : 502)

const problemOf = (call: ModelCall, beginning: string): TurnProblem => {
  const { reason } = byStatus(statusOf(call))
  return { reason, message: `${beginning}${told(call)} ${advice(call, reason)}` }
}

/** The end of a failed call, in words. */
const told = ({ outcome, status, words }: ModelCall): string => {
  const said = words === null ? "." : `: ${words.replace(/[.\s]+$/, "")}.`
  switch (outcome) {
    case "refused":
      return `The gateway answered ${status ?? "with an error"}${said}`
    case "broken_off":
      return "The gateway broke off in the middle of its answer."
    case "garbled":
      return "The gateway's answer was none that the protocol knows."
    default:
      return words ?? "The gateway did not answer."
  }
}

const advice = ({ outcome }: ModelCall, reason: TurnProblem["reason"]): string => {
  if (reason === "credential_invalid") return "Post a new credential version to the connection, then retry the turn."
  if (reason === "quota_exhausted") return "Wait or raise the limit at the gateway, then retry the turn."
  return outcome === "unreachable" ? "Then retry the turn." : "Check the model and the gateway, then retry the turn."
}
