import { Effect, Either } from "effect"
import { type CapturedTree, workspaceCapture } from "../changes/Capture.js"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import type { ConnectionHealth } from "../connections/Connection.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { NewEvent } from "../domain/Event.js"
import { ChangesetId, newId } from "../domain/Ids.js"
import type { GitError } from "../git/GitError.js"
import type { Completion } from "../jobs/JobKind.js"
import { MessageStore } from "../sessions/messages/MessageStore.js"
import { InteractionStore } from "../sessions/questions/InteractionStore.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import type { Turn } from "../sessions/Turn.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { modelCallStore } from "../sessions/usage/ModelCallStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { AgentStateStore } from "../worktrees/AgentStateStore.js"
import { Leases } from "../worktrees/Leases.js"
import type { AgentRun } from "./AgentRun.js"
import { betweenTurns } from "./BetweenTurns.js"
import { endTurn } from "./EndTurn.js"
import { settleNativeSession } from "./NativeSession.js"
import { TurnSetup } from "./TurnSetup.js"
import { harnessActor, system, type TurnProblem, type TurnWork } from "./TurnWork.js"
import { verdictOn } from "./Verdict.js"
import { wantedResults } from "./WantedResults.js"

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
    const failure = isCancelled ? undefined : problemOf(run)
    const isCaptured = failure === undefined && !isCancelled
    if (isCaptured) yield* wanted.takeFrom(work, run.output.answer().content)
    // Work that was done is kept, whatever became of its result.
    const problem = isCaptured ? yield* wanted.problemOf(work) : failure
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
const conclusion = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const interactions = yield* InteractionStore
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const leases = yield* Leases
  const messages = yield* MessageStore
  const calls = modelCallStore(yield* Database)
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

/** A capture that was taken, or that failed, under the id that its changeset will have. */
interface Capture {
  readonly id: ChangesetId
  readonly taken: Either.Either<CapturedTree, GitError>
  /** Tells of what was written between the turns. */
  readonly between: ReadonlyArray<NewEvent>
}

/** The captures of succeeded turns. They are taken before the commit that ends the turn, and sealed inside of it. */
const automaticCaptures = Effect.gen(function* () {
  const changesets = yield* ChangesetStore
  const journal = yield* Journal
  const takeCapture = yield* workspaceCapture
  const sessions = yield* SessionStore
  const eventsBetween = yield* betweenTurns

  return {
    take: Effect.fnUntraced(function* (session: SessionRow, turn: Turn) {
      const current = yield* sessions.find(session.id)
      if (current === undefined || current.auto_capture === 0) return undefined
      const id = yield* newId(ChangesetId)
      const taken = yield* Effect.either(takeCapture(current, id))
      const between = Either.isRight(taken) ? yield* eventsBetween(current, turn, taken.right) : []
      const capture: Capture = { id, taken, between }
      return capture
    }),
    seal: Effect.fnUntraced(function* ({ session, turn }: TurnWork, { between, id, taken }: Capture) {
      yield* journal.append(session.id, system, between)
      yield* changesets.open(id, session.id, system, { origin: "automatic", label: null, turnId: turn.id })
      yield* Either.match(taken, {
        onLeft: (error) => changesets.fail(id, error.message, system),
        onRight: (captured) => changesets.seal(id, captured, system)
      })
    })
  }
})

/** The health of the credential that a turn used. Undefined when the end of the turn says nothing about it, as for most failures. */
const healthAfter = (problem: TurnProblem | undefined): ConnectionHealth | undefined => {
  if (problem === undefined) return "ready"
  return problem.reason === "credential_invalid" ? "reauth_required" : undefined
}

/** The problem of a turn: a budget that has ended it comes first, then what its model calls prove, then what its agent says. */
const problemOf = (run: AgentRun): TurnProblem | undefined =>
  run.gate.problem() ?? verdictOn(run.witness.testimony(), run.failure) ?? run.failure ?? unprovenEnd(run)

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
