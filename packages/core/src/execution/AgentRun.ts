import { Chunk, Duration, Effect, Stream } from "effect"
import { AgentPool } from "../agents/AgentPool.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import { type CredentialId, MessageId, newId } from "../domain/Ids.js"
import type { Message } from "../domain/Message.js"
import { now } from "../domain/Timestamp.js"
import { EventFeed } from "../events/EventFeed.js"
import type { HarnessEvent, HarnessFailure } from "../harness/HarnessEvent.js"
import { InteractionStore } from "../sessions/InteractionStore.js"
import { MessageStore } from "../sessions/MessageStore.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { TurnStore } from "../sessions/TurnStore.js"
import { Journal } from "../store/Journal.js"
import { TurnOutput } from "./TurnOutput.js"
import * as TurnPrompt from "./TurnPrompt.js"
import { TurnQuestions } from "./TurnQuestions.js"
import { type PreparedAgent, TurnSetup } from "./TurnSetup.js"
import { harnessActor, system, type TurnWork } from "./TurnWork.js"

/** Output is written down in batches of this many events, or after this time. */
const batchSize = 64
const batchWindow = Duration.millis(80)

/** The run of an agent for one turn, from its start to its end. */
export interface AgentRun {
  /** The id of the message that will hold the agent's words. Their parts are announced with it. */
  readonly messageId: MessageId
  readonly output: TurnOutput
  readonly questions: TurnQuestions
  /** The version of the credential that the run used; null without a connection. */
  readonly credentialId: CredentialId | null
  readonly leaseId: string
  /** The native session that the agent went on with; null for a new one. */
  readonly nativeSessionId: string | null
  /** The reason that the harness gave up; undefined when it did not. */
  readonly failure: HarnessFailure | undefined
}

/**
 * The second step of an attempt. The harness works, and its output is written while it comes. The agent gets a loan instead of its credential,
 * and the loan is good for the run only.
 */
export const runAgent = Effect.gen(function* () {
  const { turnDeadlineMs } = yield* CoreConfig
  const agents = yield* AgentPool
  const interactions = yield* InteractionStore
  const promptOf = yield* TurnPrompt.make
  const messages = yield* MessageStore
  const askAgent = yield* asking
  const writeOutput = yield* writing
  const keepNativeState = yield* keeping

  const converse = Effect.fnUntraced(function* (work: TurnWork, prepared: PreparedAgent, speech: Speech) {
    const { attempt, message, session } = work
    const isAsking = prepared.manifest.capabilities.interactive_approval === "supported"
    // An agent without a session of its own knows nothing of the conversation, so it gets the summary of the session before.
    const handoff = prepared.nativeSessionId === null ? yield* messages.findHandoff(session.id) : undefined
    const prompt = yield* promptOf(prepared.workspaceDir, [...(handoff?.content ?? []), ...message.content])
    const said = agents.run({
      ...prepared,
      beforePrompt: (nativeSessionId) => askAgent(work, nativeSessionId, handoff),
      prompt,
      cancel: attempt.cancelRequested,
      deadline: turnDeadlineMs,
      ...(isAsking && { ask: speech.questions.answer })
    })
    return yield* writeOutput(work, speech, said)
  })

  return Effect.fnUntraced(function* (work: TurnWork, prepared: PreparedAgent) {
    const messageId = yield* newId(MessageId)
    const output = new TurnOutput(messageId, { turn_id: work.turn.id, job_id: work.attempt.claim.jobId })
    const questions = new TurnQuestions(interactions, work.attempt, work.turn)
    const failure = yield* converse(work, prepared, { output, questions }).pipe(
      Effect.tapDefect(() => keepNativeState(work))
    )
    yield* failpoint("turn.agent_ended")
    const { credentialId, leaseId, nativeSessionId } = prepared
    const run: AgentRun = { messageId, output, questions, credentialId, leaseId, nativeSessionId, failure }
    return run
  })
})

/** The words and the questions of the agent in one turn. */
interface Speech {
  readonly output: TurnOutput
  readonly questions: TurnQuestions
}

/**
 * The moment at which the agent is asked. From then on the turn runs, and it is never run twice. False when the turn was cancelled before, and
 * the agent has then done nothing.
 */
const asking = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const turns = yield* TurnStore
  const messages = yield* MessageStore

  return ({ attempt, message, session, turn }: TurnWork, nativeSessionId: string, handoff: Message | undefined) => {
    const started = Effect.gen(function* () {
      yield* sessions.lock(session.id)
      if ((yield* turns.find(turn.id))?.state !== "preparing") return false
      yield* turns.move(turn.id, "running", system)
      if (handoff !== undefined) yield* messages.deliver(handoff, system)
      yield* messages.deliver({ ...message, turn_id: turn.id }, system)
      yield* sessions.change(session.id, { native_session_id: nativeSessionId, lease_used_at: yield* now })
      return true
    })
    return attempt.commit(started).pipe(
      Effect.tap(() => failpoint("turn.running")),
      // The commit that ends the turn fails with AttemptLost too, which ends the attempt.
      Effect.catchTag("AttemptLost", () => Effect.succeed(false))
    )
  }
})

/** Writes the output of the harness in batches, and sends its words as deltas before. Gives the failure of the harness, if there is one. */
const writing = Effect.gen(function* () {
  const feed = yield* EventFeed
  const journal = yield* Journal

  const write = Effect.fnUntraced(function* (
    { attempt, session }: TurnWork,
    { output, questions }: Speech,
    batch: Chunk.Chunk<HarnessEvent>
  ) {
    const actor = harnessActor(session)
    const events = output.events(batch)
    const asked = Chunk.toReadonlyArray(batch).filter((event) => event._tag === "asked")
    if (events.length === 0 && asked.length === 0) return
    const given = yield* attempt.commit(
      Effect.gen(function* () {
        if (events.length > 0) yield* journal.append(session.id, actor, events)
        return yield* questions.open(actor, asked)
      })
    )
    yield* questions.opened(given)
  })

  return Effect.fnUntraced(function* (
    work: TurnWork,
    speech: Speech,
    said: Stream.Stream<HarnessEvent, HarnessFailure>
  ) {
    let failure: HarnessFailure | undefined
    yield* said.pipe(
      Stream.tap((event) =>
        event._tag === "text" || event._tag === "reasoning"
          ? feed.whisper(speech.output.delta(work.session.id, work.turn.id, event))
          : Effect.void
      ),
      Stream.either,
      Stream.groupedWithin(batchSize, batchWindow),
      Stream.runForEach((batch) => {
        const [failures, events] = Chunk.separate(batch)
        failure = Chunk.toReadonlyArray(failures)[0] ?? failure
        return Effect.zipLeft(write(work, speech, events), failpoint("turn.output_written"))
      })
    )
    return failure
  })
})

/**
 * Stores the digest of the agent's own state when the run dies. Starting the agent may have changed that state, and the next attempt goes on
 * from it.
 */
const keeping = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const setup = yield* TurnSetup

  return ({ attempt, session }: TurnWork) =>
    Effect.flatMap(setup.nativeDigest(session), (native_digest) =>
      attempt.commit(sessions.change(session.id, { native_digest }))
    ).pipe(
      // The step that ends a lost attempt stores the digest anew, so this one may be missed.
      Effect.catchAllCause(() => Effect.void)
    )
})
