import { fn } from "@reins/base/base/Traced"
import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import type { Loss } from "../../jobs/Claim.js"
import type { JobKind } from "../../jobs/JobKind.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { type Turn, turnStates, waitingTurnState } from "../../sessions/rows/Turn.js"
import type { TurnEnd } from "../../sessions/turns/TurnRow.js"
import { TurnStore } from "../../sessions/turns/TurnStore.js"
import { describeFault, type WorkFault } from "../../store/StorageFault.js"
import { AgentStateStore } from "../../worktrees/AgentStateStore.js"
import { Leases } from "../../worktrees/Leases.js"
import { settleNativeSession } from "../setup/NativeSession.js"
import { TurnSetup } from "../setup/TurnSetup.js"
import { system, turnOf } from "../setup/TurnWork.js"
import { endTurn } from "./EndTurn.js"
import { keepWords, readWords } from "./SaidWords.js"

/** Ends the work of a lost worker on a turn. The turn waits again when its agent was not asked, and is interrupted when it was. */
export const lostTurn = Effect.gen(function* () {
  const leases = yield* Leases
  const setup = yield* TurnSetup
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const turns = yield* TurnStore
  const end = yield* endTurn
  const interrupt = yield* interruptTurn

  const requeue = Effect.fnUntraced(function* (sessionId: SessionId, turn: Turn, reason: TurnEnd["reason"]) {
    yield* sessions.lock(sessionId)
    // The turn may have been cancelled since it was read.
    if ((yield* turns.find(turn.id))?.state !== "preparing") return yield* end(turn, "failed", {})
    yield* turns.move(turn.id, waitingTurnState, system, reason === undefined ? {} : { reason })
  })

  const lost: JobKind["lost"] = fn("turnJob.lost")(function* (claim, loss) {
    const turn = yield* turns.find(turnOf(claim))
    const session = turn === undefined ? undefined : yield* sessions.find(turn.session_id)
    if (turn === undefined || session === undefined) return { next: "failed" as const, command: Effect.void }
    // Nothing was begun for a waiting turn, and nothing is left of a turn that has ended. The lease may belong to another turn by now.
    if (turn.state === waitingTurnState) return { next: "retry" as const, command: Effect.void }
    if (turnStates.isTerminal(turn.state)) return { next: "failed" as const, command: Effect.void }
    yield* leases.reap(session)
    const { reason, reasonMessage, requeuedFor } = endingOf(loss)
    // A worker that was only stopped ends the processes of its lease when it goes on. The next agent therefore needs another lease.
    const loseLease = leases.lose(session.id, system, reason)
    if (turn.state === "preparing") {
      // The start of the agent may have changed its own state, as its work does.
      const settled = states.change(session.id, { native_digest: yield* setup.stateAfterLoss(session) })
      const command = Effect.all([loseLease, settled, requeue(session.id, turn, requeuedFor)], { discard: true })
      return { next: "retry" as const, command }
    }
    const ended = yield* interrupt(session, turn, { reason, reasonMessage })
    return { next: "failed" as const, command: Effect.zipRight(loseLease, ended) }
  })
  return lost
})

/**
 * The command that ends a turn whose agent may have worked and whose end was not seen. The next turn goes on from the present state of the
 * agent.
 */
export const interruptTurn = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const setup = yield* TurnSetup
  const settleNative = yield* settleNativeSession
  const end = yield* endTurn
  const read = yield* readWords
  const keep = yield* keepWords

  return Effect.fnUntraced(function* (session: SessionRow, turn: Turn, why: TurnEnd) {
    const native_digest = yield* setup.stateAfterLoss(session)
    const words = yield* read(turn)
    return Effect.gen(function* () {
      const row = yield* sessions.lock(session.id)
      yield* states.change(session.id, { ...(yield* settleNative(row, turn, words !== undefined)), native_digest })
      const outcome = yield* keep(turn, words)
      yield* end(turn, "interrupted", { ...why, ...(outcome && { outcome }) })
    })
  })
})

const lookAndGoOn =
  "how far it came cannot be proven. Look at the changes, then acknowledge the turn to let the queue go on, or retry it."

/**
 * The reason for the end of a turn whose worker was lost while the agent worked. A turn that was still being prepared gives it as the reason to
 * wait.
 */
const endingOf = (loss: Loss | WorkFault) => {
  if (loss === "ended") {
    const reasonMessage = `The service stopped while the agent worked, so ${lookAndGoOn}`
    return { reason: "service_restart", reasonMessage, requeuedFor: "service_restart" } as const
  }
  if (loss === "silent") {
    const reasonMessage = `The service stood still for longer than its claim on the turn while the agent worked, so ${lookAndGoOn}`
    return { reason: "outcome_unknown", reasonMessage, requeuedFor: "service_restart" } as const
  }
  const reasonMessage = `${describeFault(loss)}, so what the agent did could not be kept, and ${lookAndGoOn}`
  return { reason: "outcome_unknown", reasonMessage, requeuedFor: "waiting_capacity" } as const
}
