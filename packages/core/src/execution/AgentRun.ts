import { Cause, Chunk, Clock, Duration, Effect, Mailbox, Stream } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import { Bench } from "../bench/Bench.js"
import type { Prices } from "../connections/Prices.js"
import { type CredentialId, MessageId, newId } from "../domain/Ids.js"
import { EventFeed } from "../events/EventFeed.js"
import type { HarnessEvent, HarnessFailure } from "../harness/HarnessEvent.js"
import type { Manifest } from "../harness/Manifest.js"
import type { Message } from "../sessions/Message.js"
import { MessageStore } from "../sessions/messages/MessageStore.js"
import { InteractionStore } from "../sessions/questions/InteractionStore.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { modelCallStore } from "../sessions/usage/ModelCallStore.js"
import { Database } from "../store/Database.js"
import { logDefect } from "../store/FailedStatement.js"
import { Journal } from "../store/Journal.js"
import { ToolRuns } from "../tools/ToolRuns.js"
import { AgentStateStore } from "../worktrees/AgentStateStore.js"
import { Leases } from "../worktrees/Leases.js"
import { type BudgetGate, budgetGate } from "./BudgetGate.js"
import { TurnOutput } from "./TurnOutput.js"
import { TurnQuestions } from "./TurnQuestions.js"
import { fixedPaths, type PreparedAgent, TurnSetup } from "./TurnSetup.js"
import { turnWords } from "./TurnWords.js"
import { harnessActor, system, type TurnWork } from "./TurnWork.js"
import { wantedResults } from "./WantedResults.js"
import { Witness } from "./Witness.js"

/** Output is written down in batches of this many events, or after this time. */
const batchSize = 64
const batchWindow = Duration.millis(80)

/** The run of an agent for one turn, from its start to its end. */
export interface AgentRun {
  /** The id of the message that will hold the agent's words. Their parts are announced with it. */
  readonly messageId: MessageId
  readonly output: TurnOutput
  readonly questions: TurnQuestions
  /** Saw the model calls of the run. Those that nobody has taken yet are not written yet. */
  readonly witness: Witness
  /** Held the model calls of the run that no budget let out. */
  readonly gate: BudgetGate
  /** The prices of the models. */
  readonly prices: Prices
  /** The version of the credential that the run used; null without a connection. */
  readonly credentialId: CredentialId | null
  readonly leaseId: string
  /** The reason that the harness gave up; undefined when it did not. */
  readonly failure: HarnessFailure | undefined
}

/**
 * The second step of an attempt. The harness works, and its output is written while it comes. The agent gets a loan instead of its credential,
 * and the loan is good for the run only.
 */
export const runAgent = Effect.gen(function* () {
  const { turnDeadlineMs } = yield* CoreConfig
  const { agents } = yield* Bench
  const interactions = yield* InteractionStore
  const wordsOf = yield* turnWords
  const messages = yield* MessageStore
  const askAgent = yield* makeAsk
  const writeOutput = yield* makeWrite
  const keepNativeState = yield* makeKeepState

  const keepCalls = yield* makeKeepCalls
  const gateOf = yield* budgetGate
  const toolRuns = yield* ToolRuns
  const wanted = yield* wantedResults

  const converse = Effect.fnUntraced(function* (work: TurnWork, prepared: PreparedAgent, speech: Speech) {
    const { attempt, message, session, turn } = work
    // An agent without a session of its own knows nothing of the conversation, so it gets the summary of the session before.
    const { ear, options, order, permissions } = prepared
    const handoff = order.native_session === null ? yield* messages.findHandoff(session.id) : undefined
    const callTool = order.tools && (yield* toolRuns.of(session, turn))
    const said = agents.run(
      {
        agent: order,
        prompt: [
          ...(handoff?.content ?? []),
          ...message.content,
          ...(yield* wanted.wordsFor(work, callTool !== undefined))
        ],
        ...(options && { options }),
        permissions,
        deadline_ms: Math.min(turnDeadlineMs, 1000 * (order.limits?.turn_seconds ?? Infinity))
      },
      {
        ...ear,
        began: (nativeSessionId) => askAgent(work, prepared, nativeSessionId, handoff),
        cancelled: Effect.asVoid(Effect.raceAll([attempt.cancelRequested, speech.witness.gaveUp, speech.gate.gaveUp])),
        calls: speech.witness,
        ...(callTool && { callTool, followUp: wanted.repairOf(work) }),
        ...(order.isAnswered && { answer: speech.questions.answer }),
        ...(isTalking(prepared.manifest) && wordsOf(work))
      }
    )
    return yield* writeOutput(work, speech, said)
  })

  return Effect.fnUntraced(function* (work: TurnWork, prepared: PreparedAgent) {
    const messageId = yield* newId(MessageId)
    const subjects = { turn_id: work.turn.id, job_id: work.attempt.claim.jobId }
    const told = work.session.agent.told === null ? {} : JSON.parse(work.session.agent.told)
    const output = new TurnOutput(messageId, subjects, prepared.nativeCost, told)
    const questions = new TurnQuestions(interactions, work.attempt, work.turn)
    const { credentialId, order, prices } = prepared
    const talk = Effect.gen(function* () {
      const gate = yield* gateOf(work, prepared)
      const speech = { output, questions, witness: yield* Witness.make(order.model, gate), gate, prices }
      const failure = yield* converse(work, prepared, speech).pipe(
        Effect.tapDefect(() => keepNativeState(work)),
        // The end of the turn keeps the last calls. Without an end they are kept here, because they have used what they have used.
        Effect.onError(() => keepCalls(work, speech))
      )
      return { ...speech, failure }
    })
    const run: AgentRun = { messageId, credentialId, leaseId: order.lease, ...(yield* Effect.scoped(talk)) }
    yield* failpoint("turn.agent_ended")
    return run
  })
})

const isTalking = ({ capabilities }: Manifest): boolean =>
  capabilities.steer === "supported" || capabilities.interrupt === "supported"

/** The words, the questions and the model calls of the agent in one turn. */
interface Speech extends Pick<AgentRun, "output" | "questions" | "witness" | "gate" | "prices"> {}

/**
 * The moment at which the agent is asked. From then on the turn runs, and it is never run twice. False when the turn was cancelled before, and
 * the agent has then done nothing.
 */
const makeAsk = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const leases = yield* Leases
  const turns = yield* TurnStore
  const messages = yield* MessageStore

  return (
    { attempt, message, session, turn }: TurnWork,
    { order }: PreparedAgent,
    nativeSessionId: string,
    handoff: Message | undefined
  ) => {
    const started = Effect.gen(function* () {
      const active = (yield* sessions.lock(session.id))?.turns.active
      if (active?.id !== turn.id || active.state !== "preparing") return false
      yield* turns.move(turn.id, "running", system)
      if (handoff !== undefined) yield* messages.deliver(handoff, system)
      yield* messages.deliver({ ...message, turn_id: turn.id }, system)
      const native_paths = order.isFixed ? fixedPaths : null
      if (session.agent.native_session_id === null)
        yield* states.change(session.id, { native_candidate: nativeSessionId, native_paths })
      yield* leases.use(session.id)
      yield* sessions.touch(session.id)
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
const makeWrite = Effect.gen(function* () {
  const feed = yield* EventFeed
  const journal = yield* Journal
  const calls = modelCallStore(yield* Database)
  const states = yield* AgentStateStore

  const write = Effect.fnUntraced(function* (
    work: TurnWork,
    speech: Speech,
    batch: Chunk.Chunk<HarnessEvent>,
    /** What waits to be told is told with a question, which may be about it, and at the end. */
    isLast = false
  ) {
    const { attempt, session, turn } = work
    const { output, prices, questions, witness } = speech
    const actor = harnessActor(session)
    const seen = witness.take()
    const asked = Chunk.toReadonlyArray(batch).filter((event) => event._tag === "asked" || event._tag === "withdrawn")
    const time = yield* Clock.currentTimeMillis
    const rest = () => (isLast || asked.length > 0 ? output.rest(time) : [])
    const events = [...output.events(batch, time), ...rest(), ...output.witnessed(seen, prices)]
    const told = output.newlyTold()
    if (events.length === 0 && asked.length === 0) return
    const given = yield* attempt
      .commit(
        Effect.gen(function* () {
          yield* calls.add(session, turn, seen, prices)
          if (events.length > 0) yield* journal.append(session.id, actor, events)
          if (told !== undefined) yield* states.change(session.id, { told })
          return yield* questions.open(actor, asked)
        })
      )
      .pipe(Effect.onError(() => Effect.sync(() => witness.putBack(seen))))
    yield* questions.opened(given)
  })

  return Effect.fnUntraced(function* (
    work: TurnWork,
    speech: Speech,
    said: Stream.Stream<HarnessEvent, HarnessFailure>
  ) {
    let failure: HarnessFailure | undefined
    const spoken = said.pipe(
      Stream.tap((event) =>
        event._tag === "text" || event._tag === "reasoning"
          ? feed.whisper(speech.output.delta(work.session.id, work.turn.id, event))
          : Effect.void
      ),
      Stream.either
    )
    const alarm = yield* alarmFor(speech.output)
    const rings = Stream.merge(speech.witness.rings, alarm.rings)
    yield* Stream.merge(spoken, rings, { haltStrategy: "left" }).pipe(
      Stream.groupedWithin(batchSize, batchWindow),
      Stream.runForEach((batch) => {
        const [failures, events] = Chunk.separate(Chunk.filter(batch, (each) => each !== undefined))
        failure = Chunk.toReadonlyArray(failures)[0] ?? failure
        const written = Effect.zipRight(write(work, speech, events), alarm.set)
        return Chunk.every(batch, (each) => each === undefined)
          ? written
          : Effect.zipLeft(written, failpoint("turn.output_written"))
      })
    )
    yield* write(work, speech, Chunk.empty(), true)
    return failure
  }, Effect.scoped)
})

/** Rings when something that waits is due, so that it is told although the agent says nothing more. */
const alarmFor = Effect.fnUntraced(function* (output: TurnOutput) {
  const bell = yield* Mailbox.make<undefined>({ capacity: 1, strategy: "sliding" })
  let isSet = false
  const set = Effect.gen(function* () {
    const { nextAt } = output
    if (nextAt === undefined || isSet) return
    isSet = true
    yield* Effect.sleep(Math.max(1, nextAt - (yield* Clock.currentTimeMillis))).pipe(
      Effect.zipRight(
        Effect.sync(() => {
          isSet = false
          bell.unsafeOffer(undefined)
        })
      ),
      Effect.forkScoped
    )
  })
  return { set, rings: Mailbox.toStream(bell) }
})

/**
 * Stores the digest of the agent's own state when the run dies. Starting the agent may have changed that state, and the next attempt goes on
 * from it.
 */
const makeKeepState = Effect.gen(function* () {
  const states = yield* AgentStateStore
  const setup = yield* TurnSetup

  return ({ attempt, session }: TurnWork) =>
    Effect.flatMap(setup.nativeDigest(session), (native_digest) =>
      attempt.commit(states.change(session.id, { native_digest }))
    ).pipe(
      // The step that ends a lost attempt stores the digest anew, so this one may be missed.
      Effect.catchAllCause(() => Effect.void)
    )
})

/** Keeps the calls of a run that has no end of its own, such as one whose attempt was lost. They are facts, so no fence holds them. */
const makeKeepCalls = Effect.gen(function* () {
  const journal = yield* Journal
  const calls = modelCallStore(yield* Database)

  return ({ session, turn }: TurnWork, { prices, witness }: Speech) =>
    Effect.suspend(() => {
      const seen = witness.take()
      return seen.length === 0 ? Effect.void : journal.commit(calls.add(session, turn, seen, prices))
    }).pipe(Effect.catchAllCause((cause) => logDefect("model calls cannot be kept", Cause.squash(cause))))
})
