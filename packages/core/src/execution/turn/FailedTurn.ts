import { fn } from "@reins/base/base/Traced"
import { Effect } from "effect"
import type { Claim } from "../../jobs/Claim.js"
import type { JobFailure } from "../../jobs/Job.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { isStarted, TurnReason, turnStates, waitingTurnState } from "../../sessions/rows/Turn.js"
import { TurnStore } from "../../sessions/turns/TurnStore.js"
import { AgentStateStore } from "../../worktrees/AgentStateStore.js"
import { settleNativeSession } from "../setup/NativeSession.js"
import { system, turnOf } from "../setup/TurnWork.js"
import { endTurn } from "./EndTurn.js"
import { keepWords, readWords } from "./SaidWords.js"

/** The end of a turn whose job has failed for good. The turn is interrupted when its agent was asked, and failed otherwise. */
export const failedTurn = Effect.gen(function* () {
  const turns = yield* TurnStore
  const end = yield* endTurn
  const read = yield* readWords
  const keep = yield* keepWords
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const settleNative = yield* settleNativeSession

  return fn("turnJob.failed")(function* (claim: Claim, { code, message }: JobFailure) {
    const turn = yield* turns.find(turnOf(claim))
    if (turn === undefined || turnStates.isTerminal(turn.state)) return
    if (turn.state === waitingTurnState) yield* turns.move(turn.id, "preparing", system)
    const started = isStarted(turn.state)
    const outcome = started ? yield* keep(turn, yield* read(turn)) : undefined
    if (started) {
      const settled = yield* settleNative(yield* sessions.find(turn.session_id), turn, outcome !== undefined)
      yield* states.change(turn.session_id, settled)
    }
    yield* end(turn, started ? "interrupted" : "failed", {
      ...(outcome && { outcome }),
      reason: isReason(code) ? code : started ? "outcome_unknown" : "executor_unavailable",
      reasonMessage: message
    })
  })
})

const isReason = (code: string): code is TurnReason => TurnReason.literals.some((reason) => reason === code)
