import { failpoint } from "@reins/base/base/Failpoint"
import type { HarnessEvent, HarnessFailure } from "@reins/machine/harness/HarnessEvent"
import { Cause, Chunk, Clock, Duration, Effect, Mailbox, Stream } from "effect"
import type { Prices } from "../../connections/Prices.js"
import { EventFeed } from "../../events/EventFeed.js"
import { modelCallStore } from "../../sessions/usage/ModelCallStore.js"
import { logDefect } from "../../store/FailedStatement.js"
import { Journal } from "../../store/Journal.js"
import type { RunTraces } from "../../traces/RunTraces.js"
import { AgentStateStore } from "../../worktrees/AgentStateStore.js"
import { harnessActor, type TurnWork } from "../setup/TurnWork.js"
import type { BudgetGate } from "./BudgetGate.js"
import type { TurnOutput } from "./TurnOutput.js"
import type { QuestionEvent, TurnQuestions } from "./TurnQuestions.js"
import type { Witness } from "./Witness.js"

/** Output is written down in batches of this many events, or after this time. */
const batchSize = 64
const batchWindow = Duration.millis(80)

/** The words, the questions and the model calls of the agent in one turn. */
export interface Speech {
  readonly output: TurnOutput
  readonly questions: TurnQuestions
  /** Saw the model calls of the run. Those that nobody has taken yet are not written yet. */
  readonly witness: Witness
  /** Held the model calls of the run that no budget let out. */
  readonly gate: BudgetGate
  /** The prices of the models. */
  readonly prices: Prices
  /** Undefined where no traces of agents are made. */
  readonly traces: RunTraces | undefined
}

/** Writes the output of the harness in batches, and sends its words as deltas before. Gives the failure of the harness, if there is one. */
export const makeWrite = Effect.gen(function* () {
  const feed = yield* EventFeed
  const journal = yield* Journal
  const calls = yield* modelCallStore
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
    const asked = Chunk.toReadonlyArray(batch).filter(isAboutQuestion)
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
          : (speech.traces?.heard(event) ?? Effect.void)
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

const isAboutQuestion = (event: HarnessEvent): event is QuestionEvent =>
  event._tag === "asked" || event._tag === "revised" || event._tag === "withdrawn"

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

/** Keeps the calls of a run that has no end of its own, such as one whose attempt was lost. They are facts, so no fence holds them. */
export const makeKeepCalls = Effect.gen(function* () {
  const journal = yield* Journal
  const calls = yield* modelCallStore

  return ({ session, turn }: TurnWork, { prices, witness }: Speech) =>
    Effect.suspend(() => {
      const seen = witness.take()
      return seen.length === 0 ? Effect.void : journal.commit(calls.add(session, turn, seen, prices))
    }).pipe(Effect.catchAllCause((cause) => logDefect("model calls cannot be kept", Cause.squash(cause))))
})
