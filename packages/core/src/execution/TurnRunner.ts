import { Chunk, Duration, Effect, Either, Stream } from "effect"
import { systemActor } from "../access/Access.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { type Captured, Changesets } from "../changes/Changesets.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import { CredentialProxy } from "../connections/CredentialProxy.js"
import type { ConnectionHealth } from "../domain/Connection.js"
import type { Actor } from "../domain/Event.js"
import { ChangesetId, type CredentialId, MessageId, newId, TurnId } from "../domain/Ids.js"
import type { Message } from "../domain/Message.js"
import { now } from "../domain/Timestamp.js"
import { type Turn, TurnReason, turnStates } from "../domain/Turn.js"
import { EventFeed } from "../events/EventFeed.js"
import type { GitError } from "../git/GitError.js"
import { Harness } from "../harness/Harness.js"
import type { HarnessEvent, HarnessFailure } from "../harness/HarnessEvent.js"
import type { Claim } from "../jobs/Claim.js"
import { type AttemptLost, type Completion, JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import { Interactions } from "../sessions/Interactions.js"
import { Messages } from "../sessions/Messages.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import { Turns, turnJobKind } from "../sessions/Turns.js"
import { WorkingTrees } from "../sessions/WorkingTrees.js"
import { Journal } from "../store/Journal.js"
import { turnEndings } from "./TurnEndings.js"
import { TurnOutput } from "./TurnOutput.js"
import * as TurnPrompt from "./TurnPrompt.js"
import { TurnQuestions } from "./TurnQuestions.js"
import { type PreparedTurn, type TurnRefused, TurnSetup } from "./TurnSetup.js"

const system = systemActor("turns")

const turnOf = (claim: Claim): TurnId => TurnId.make(claim.subject.id)

/** Output is written down in batches of this many events, or after this time. */
const batchSize = 64
const batchWindow = Duration.millis(80)

/** How long the workspace, the agent's stop and the capture may take besides the turn itself. */
const overheadMs = 30 * 60_000

interface Work {
  readonly attempt: RunningAttempt
  readonly turn: Turn
  readonly session: SessionRow
  readonly message: Message
}

/**
 * Runs a turn: prepares, has the harness work, writes down what it says as it says it, captures what it did, and moves the turn to
 * the end that can be proven. A turn whose agent was never asked can be attempted again; one that was is never run twice.
 */
export const turnJob = Effect.gen(function* () {
  const config = yield* CoreConfig
  const connections = yield* ConnectionStore
  const credentials = yield* CredentialProxy
  const feed = yield* EventFeed
  const journal = yield* Journal
  const harness = yield* Harness
  const interactions = yield* Interactions
  const store = yield* SessionStore
  const turns = yield* Turns
  const messages = yield* Messages
  const changesets = yield* Changesets
  const trees = yield* WorkingTrees
  const setup = yield* TurnSetup
  const promptOf = yield* TurnPrompt.make
  const { end, interrupt, keepSaid, lost, saidIn } = yield* turnEndings

  /** The turn, now preparing; undefined when it was cancelled before it could start. */
  const begin = Effect.fnUntraced(function* (attempt: RunningAttempt) {
    const turn = yield* attempt.commit(
      Effect.gen(function* () {
        const found = yield* turns.find(turnOf(attempt.claim))
        return found?.state === "queued" ? yield* turns.move(found.id, "preparing", system) : found
      })
    )
    if (turn === undefined || turnStates.isTerminal(turn.state)) return undefined
    const session = yield* store.find(turn.session_id)
    const message = yield* messages.find(turn.message_id)
    return session === undefined || message === undefined ? undefined : { attempt, turn, session, message }
  })

  const refuse = (work: Work, refusal: TurnRefused): Completion => ({
    state: "failed",
    failure: { code: refusal.reason, message: refusal.message, retryable: false },
    command: Effect.gen(function* () {
      if (refusal.reason === "context_unavailable") yield* store.change(work.session.id, { context_lost: 1 })
      yield* end(work.turn, "failed", { reason: refusal.reason, reasonMessage: refusal.message })
    })
  })

  /** Has the harness work and writes down what it says. Gives back why it failed, if it did. */
  const converse = Effect.fnUntraced(function* (
    work: Work,
    prepared: PreparedTurn,
    output: TurnOutput,
    questions: TurnQuestions,
    harnessActor: Actor
  ) {
    const { attempt, message, session, turn } = work
    const write = Effect.fnUntraced(function* (batch: Chunk.Chunk<HarnessEvent>) {
      const events = output.events(batch)
      const asked = Chunk.toReadonlyArray(batch).filter((event) => event._tag === "asked")
      if (events.length === 0 && asked.length === 0) return
      const given = yield* attempt.commit(
        Effect.gen(function* () {
          if (events.length > 0) yield* journal.append(session.id, harnessActor, events)
          return yield* questions.open(harnessActor, asked)
        })
      )
      yield* questions.opened(given)
    })
    const isAsking = prepared.manifest.capabilities.interactive_approval === "supported"
    // An agent that begins anew is told what an earlier one left for it, and again until it has a session of its own.
    const handoff = prepared.nativeSessionId === null ? yield* messages.findHandoff(session.id) : undefined
    const prompt = yield* promptOf(prepared.workspaceDir, [...(handoff?.content ?? []), ...message.content])
    // Until the agent is asked, it has done nothing, and the turn can begin again without anybody's leave.
    const startAsking = (nativeSessionId: string) =>
      attempt
        .commit(
          Effect.gen(function* () {
            yield* store.lock(session.id)
            if ((yield* turns.find(turn.id))?.state !== "preparing") return false
            yield* turns.move(turn.id, "running", system)
            if (handoff !== undefined) yield* messages.deliver(handoff, system)
            yield* messages.deliver({ ...message, turn_id: turn.id }, system)
            yield* store.change(session.id, { native_session_id: nativeSessionId, lease_used_at: yield* now })
            return true
          })
        )
        .pipe(
          Effect.tap(() => failpoint("turn.running")),
          // The commit that ends the turn finds the same.
          Effect.catchTag("AttemptLost", () => Effect.succeed(false))
        )
    let failure: HarnessFailure | undefined
    yield* harness
      .runTurn({
        ...prepared,
        beforePrompt: startAsking,
        prompt,
        cancel: attempt.cancelRequested,
        ...(isAsking && { ask: questions.answer })
      })
      .pipe(
        Stream.tap((event) =>
          event._tag === "text" || event._tag === "reasoning"
            ? feed.whisper(output.delta(session.id, turn.id, event))
            : Effect.void
        ),
        Stream.either,
        Stream.groupedWithin(batchSize, batchWindow),
        Stream.runForEach((batch) => {
          const [failures, events] = Chunk.separate(batch)
          failure = Chunk.toReadonlyArray(failures)[0] ?? failure
          return Effect.zipLeft(write(events), failpoint("turn.output_written"))
        })
      )
    return failure
  })

  /** What a succeeded turn changed, ready to be sealed in the commit that ends the turn. */
  const captureFor = Effect.fnUntraced(function* (session: SessionRow) {
    const current = yield* store.find(session.id)
    if (current === undefined || current.auto_capture === 0) return undefined
    const id = yield* newId(ChangesetId)
    return { id, taken: yield* Effect.either(changesets.take(current, id)) }
  })

  const sealCapture = Effect.fnUntraced(function* (
    work: Work,
    capture: { readonly id: ChangesetId; readonly taken: Either.Either<Captured, GitError> }
  ) {
    yield* changesets.open(capture.id, work.session.id, system, {
      origin: "automatic",
      label: null,
      turnId: work.turn.id
    })
    yield* Either.match(capture.taken, {
      onLeft: (error) => changesets.fail(capture.id, error.message, system),
      onRight: (captured) => changesets.seal(capture.id, captured, system)
    })
  })

  /** The end of a turn whose agent has run: its words, its state and its changes, in one commit. */
  const conclude = Effect.fnUntraced(function* (
    work: Work,
    output: TurnOutput,
    questions: TurnQuestions,
    messageId: MessageId,
    harnessActor: Actor,
    failure: HarnessFailure | undefined,
    credentialId: CredentialId | null
  ) {
    const { session, turn } = work
    const cancelled = (yield* turns.find(turn.id))?.state === "cancelling"
    const problem = cancelled ? undefined : (failure ?? unprovenEnd(output, questions))
    const isCaptured = problem === undefined && !cancelled
    const [nativeDigest, capture] = yield* Effect.all(
      [setup.nativeDigest(session), isCaptured ? captureFor(session) : Effect.succeed(undefined)],
      { concurrency: 2 }
    )
    const content = output.content()
    // Outside of the command, which may be run again.
    const sealed = output.seal()
    const outcome = { message_id: content.length > 0 ? messageId : null, stop_reason: output.stopReason ?? "error" }
    const command = Effect.gen(function* () {
      yield* store.lock(session.id)
      yield* journal.append(session.id, harnessActor, sealed)
      if (content.length > 0) yield* messages.complete(messageId, session, turn.id, harnessActor, content)
      yield* store.change(session.id, { native_digest: nativeDigest, lease_used_at: yield* now })
      if (problem?.reason === "context_unavailable") yield* store.change(session.id, { context_lost: 1 })
      if (capture !== undefined) yield* sealCapture(work, capture)
      const health = cancelled ? undefined : healthAfter(problem)
      if (session.connection_id !== null && credentialId !== null && health !== undefined) {
        yield* connections.observe(session.connection_id, credentialId, health)
      }
      yield* interactions.withdraw(turn.id, harnessActor)
      yield* end(turn, problem === undefined ? "succeeded" : "failed", {
        outcome,
        usage: output.usage,
        ...(problem && { reason: problem.reason, reasonMessage: problem.message })
      })
    })
    if (problem !== undefined) {
      return {
        state: "failed" as const,
        failure: { code: problem.reason, message: problem.message, retryable: false },
        command
      }
    }
    return { state: cancelled ? ("cancelled" as const) : ("succeeded" as const), command }
  })

  /** The turn with a loan in the place of its credential. */
  const onLoan = Effect.fnUntraced(function* (prepared: PreparedTurn) {
    return prepared.connection === null
      ? prepared
      : { ...prepared, connection: yield* credentials.lend(prepared.connection) }
  })

  const settle = (work: Work) =>
    Effect.flatMap(setup.nativeDigest(work.session), (native_digest) =>
      work.attempt.commit(store.change(work.session.id, { native_digest }))
    ).pipe(
      // Whoever finds the attempt lost does the same.
      Effect.catchAllCause(() => Effect.void)
    )

  const runPrepared = Effect.fnUntraced(function* (work: Work, prepared: PreparedTurn) {
    const messageId = yield* newId(MessageId)
    const harnessActor: Actor = { kind: "harness", id: work.session.provider_id }
    const output = new TurnOutput(messageId, { turn_id: work.turn.id, job_id: work.attempt.claim.jobId })
    const questions = new TurnQuestions(interactions, work.attempt, work.turn)
    const failure = yield* onLoan(prepared).pipe(
      Effect.flatMap((lent) => converse(work, lent, output, questions, harnessActor)),
      Effect.scoped,
      // Starting the agent may have changed its own state, which the next attempt goes on from.
      Effect.tapDefect(() => settle(work))
    )
    yield* failpoint("turn.agent_ended")
    return yield* conclude(work, output, questions, messageId, harnessActor, failure, prepared.credentialId)
  })

  const work = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<Completion, AttemptLost | JobError> {
    // An earlier attempt started the agent and did not see its end: whatever it did must not be done again.
    if (work.turn.state !== "preparing") {
      const command = yield* interrupt(work.session, work.turn, {
        reason: "outcome_unknown",
        reasonMessage: unknownOutcome.message
      })
      return work.turn.state === "cancelling"
        ? { state: "cancelled", command }
        : { state: "failed", failure: unknownOutcome, command }
    }
    const cancelled = Effect.as(work.attempt.cancelRequested, "cancelled" as const)
    const prepared = yield* Effect.either(Effect.raceFirst(setup.prepare(work.session), cancelled))
    if (Either.isLeft(prepared)) {
      const { message, reason, retryable } = prepared.left
      return retryable ? yield* new JobError({ code: reason, message, retryable }) : refuse(work, prepared.left)
    }
    if (prepared.right === "cancelled")
      return { state: "cancelled", command: end(work.turn, "failed", { reason: "user_cancelled" }) }
    yield* failpoint("turn.prepared")
    return yield* runPrepared(work, prepared.right)
  })

  return {
    kind: turnJobKind,
    concurrency: config.maxRunningTurns,
    deadlineMs: config.turnDeadlineMs + overheadMs,
    run: fn("turnJob.run")(function* (attempt) {
      const begun = yield* begin(attempt)
      if (begun === undefined) return { state: "cancelled" as const, command: Effect.void }
      yield* failpoint("turn.begun")
      return yield* trees.exclusive(begun.session.id, work(begun))
    }),
    failed: fn("turnJob.failed")(function* (claim, failure) {
      const turn = yield* turns.find(turnOf(claim))
      if (turn === undefined || turnStates.isTerminal(turn.state)) return
      if (turn.state === "queued") yield* turns.move(turn.id, "preparing", system)
      const started = turn.state === "running" || turn.state === "requires_action"
      const outcome = started ? yield* keepSaid(turn, yield* saidIn(turn)) : undefined
      yield* end(turn, started ? "interrupted" : "failed", {
        ...(outcome && { outcome }),
        reason: isReason(failure.code) ? failure.code : started ? "outcome_unknown" : "executor_unavailable",
        reasonMessage: failure.message
      })
    }),
    lost
  } satisfies JobKind
})

const unknownOutcome = {
  code: "outcome_unknown",
  message:
    "An earlier attempt started the agent and its end was not seen. Look at the changes, then acknowledge or retry the turn.",
  retryable: false
}

/** What the end of a turn tells of the credential that it used; most failures tell nothing. */
const healthAfter = (problem: { readonly reason: TurnReason } | undefined): ConnectionHealth | undefined => {
  if (problem === undefined) return "ready"
  return problem.reason === "credential_invalid" ? "reauth_required" : undefined
}

/** An end that the harness reports but that is none: the agent stopped by itself although nobody asked it to. */
const unprovenEnd = (
  output: TurnOutput,
  questions: TurnQuestions
): { readonly reason: TurnReason; readonly message: string } | undefined => {
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
        "Nobody answered in time what the agent asked, and it went no further. Send the message again and answer it."
    }
  }
  return output.stopReason === "cancelled"
    ? { reason: "output_invalid", message: "The agent broke the turn off by itself. Send the message again." }
    : undefined
}

const isReason = (code: string): code is TurnReason => TurnReason.literals.some((reason) => reason === code)
