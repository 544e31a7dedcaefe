import { Effect } from "effect"
import type { Completion } from "../../jobs/JobKind.js"
import { TurnStore } from "../../sessions/turns/TurnStore.js"
import type { AgentRun } from "../run/AgentRun.js"
import { wantedResults } from "../run/WantedResults.js"
import { TurnSetup } from "../setup/TurnSetup.js"
import type { TurnProblem, TurnWork } from "../setup/TurnWork.js"
import { automaticCaptures } from "./AutomaticCaptures.js"
import { conclusion } from "./ConcludeTurn.js"
import { lackProblem, verdictOn } from "./Verdict.js"

/**
 * The last step of an attempt whose agent has run. It finds out how the turn ended and captures the changes. One commit then writes the words
 * of the agent, the end of the turn and its changes.
 */
export const finishTurn = Effect.gen(function* () {
  const setup = yield* TurnSetup
  const turns = yield* TurnStore
  const captures = yield* automaticCaptures
  const conclude = yield* conclusion
  const wanted = yield* wantedResults

  return Effect.fnUntraced(function* (work: TurnWork, run: AgentRun) {
    const { session, turn } = work
    const found = yield* turns.find(turn.id)
    const isCancelled = found?.state === "cancelling"
    const lack = isCancelled ? undefined : lackProblem(run.witness.testimony(), run.failure, run.output.stopReason)
    const failure = isCancelled ? undefined : problemOf(run, lack)
    const isCaptured = failure === undefined && !isCancelled
    if (isCaptured) yield* wanted.takeFrom(work, run.output.answer().content)
    // Work that was done is kept, whatever became of its result.
    const problem = isCaptured ? (lack ?? (yield* wanted.problemOf(work))) : failure
    const [nativeDigest, capture] = yield* Effect.all(
      [
        setup.stateAfterTurn(session, run.leaseId),
        isCaptured ? captures.take(session, found ?? turn) : Effect.succeed(undefined)
      ],
      { concurrency: 2 }
    )
    const sealing = capture === undefined ? Effect.void : captures.seal(work, capture)
    const command = conclude(work, run, { isCancelled, problem, nativeDigest, sealing })
    const completion: Completion =
      problem === undefined
        ? { state: isCancelled ? "cancelled" : "succeeded", command }
        : { state: "failed", failure: { code: problem.reason, message: problem.message, retryable: false }, command }
    return completion
  })
})

/**
 * The problem of a turn: a budget that has ended it comes first, then what its model calls prove, then what its agent says. A last answer that was
 * cut or withheld explains what its agent says.
 */
const problemOf = (run: AgentRun, lack: TurnProblem | undefined): TurnProblem | undefined =>
  run.gate.problem() ??
  verdictOn(run.witness.testimony(), run.failure) ??
  (lack === undefined ? (run.failure ?? unprovenEnd(run)) : undefined)

/** The problem of a turn whose agent stopped by itself without being asked to; undefined for a proper end. */
const unprovenEnd = ({ output, questions }: AgentRun): TurnProblem | undefined => {
  if (output.stopReason === undefined) {
    return {
      reason: "harness_crashed",
      message: "The agent ended without saying how the turn ended. Send the message again."
    }
  }
  if (output.stopReason === "denied" && questions.hasExpired) {
    return {
      reason: "approval_expired",
      message:
        "Nobody answered the agent's question in time, so the agent stopped. Send the message again and answer the question."
    }
  }
  return output.stopReason === "cancelled"
    ? { reason: "output_invalid", message: "The agent stopped before the turn was done. Send the message again." }
    : undefined
}
