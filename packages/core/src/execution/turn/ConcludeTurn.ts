import { Effect } from "effect"
import type { ConnectionHealth } from "../../connections/Connection.js"
import { ConnectionStore } from "../../connections/ConnectionStore.js"
import { MessageStore } from "../../sessions/messages/MessageStore.js"
import { InteractionStore } from "../../sessions/questions/InteractionStore.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { modelCallStore } from "../../sessions/usage/ModelCallStore.js"
import type { Commit } from "../../store/Commit.js"
import { Journal } from "../../store/Journal.js"
import { AgentStateStore } from "../../worktrees/AgentStateStore.js"
import { Leases } from "../../worktrees/Leases.js"
import type { AgentRun } from "../run/AgentRun.js"
import { settleNativeSession } from "../setup/NativeSession.js"
import { harnessActor, type TurnProblem, type TurnWork } from "../setup/TurnWork.js"
import { endTurn } from "./EndTurn.js"

/** The end of a turn, before it is written. */
interface Ending {
  readonly isCancelled: boolean
  /** Undefined for a turn that succeeded or was cancelled. */
  readonly problem: TurnProblem | undefined
  /** As `TurnSetup.stateAfterTurn`. */
  readonly nativeDigest: string | null
  /** Seals the changes of the turn. */
  readonly sealing: Effect.Effect<void, never, Commit>
}

/** The command that writes the end of a turn. */
export const conclusion = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const interactions = yield* InteractionStore
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const leases = yield* Leases
  const messages = yield* MessageStore
  const calls = yield* modelCallStore
  const settleNative = yield* settleNativeSession
  const end = yield* endTurn

  /** Notes on the connection the health that the turn has shown. */
  const observe = Effect.fnUntraced(function* ({ connection_id }: SessionRow, run: AgentRun, ending: Ending) {
    const health = ending.isCancelled ? undefined : healthAfter(ending.problem)
    if (connection_id !== null && run.credentialId !== null && health !== undefined)
      yield* connections.observe(connection_id, run.credentialId, health)
  })

  return ({ session, turn }: TurnWork, run: AgentRun, ending: Ending): Effect.Effect<void, never, Commit> => {
    const { messageId, output, prices, witness } = run
    const { nativeDigest, problem, sealing } = ending
    const agent = harnessActor(session)
    const answer = output.answer()
    const hasAnswer = answer.parts.length > 0
    const lastCalls = witness.take()
    // Sealing counts revisions, so it happens once. The commit may run again, so sealing stays outside of it.
    const lastEvents = [...output.seal(), ...output.witnessed(lastCalls, prices)]
    const outcome = { message_id: hasAnswer ? messageId : null, stop_reason: output.stopReason ?? "error" }
    return Effect.gen(function* () {
      const row = yield* sessions.lock(session.id)
      yield* calls.add(session, turn, lastCalls, prices)
      yield* journal.append(session.id, agent, lastEvents)
      if (hasAnswer) yield* messages.complete(messageId, session, turn.id, agent, answer)
      yield* states.change(session.id, {
        ...(yield* settleNative(row, turn, (problem === undefined && !ending.isCancelled) || hasAnswer)),
        native_digest: nativeDigest,
        native_cost: output.nativeCost,
        ...(problem?.reason === "context_unavailable" && { context_lost: 1 })
      })
      yield* leases.use(session.id)
      yield* sealing
      yield* observe(session, run, ending)
      yield* interactions.withdraw(turn.id, agent)
      yield* end(turn, problem === undefined ? "succeeded" : "failed", {
        outcome,
        usage: output.reported,
        ...(problem && { reason: problem.reason, reasonMessage: problem.message })
      })
    })
  }
})

/** The health of the credential that a turn used. Undefined when the end of the turn says nothing about it, as for most failures. */
const healthAfter = (problem: TurnProblem | undefined): ConnectionHealth | undefined => {
  if (problem === undefined) return "ready"
  return problem.reason === "credential_invalid" ? "reauth_required" : undefined
}
