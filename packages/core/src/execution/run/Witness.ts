import { type ModelRefusal, modelRefusal } from "@reins/machine/harness/ModelRefusals"
import {
  type CallLeave,
  type CallObserver,
  type CallRefusal,
  isFailing,
  type ModelCall
} from "@reins/machine/relay/gateway/ModelCall"
import { Deferred, Effect, Mailbox, type Stream } from "effect"
import type { BudgetGate } from "./BudgetGate.js"

/** A turn ends when so many of its model calls have failed in a row. Agents that retry without an end would ask on until the deadline. */
export const mostFailingCalls = 30

/** A turn ends when so many calls of its work in a row were refused for a reason that no repetition mends. An agent may try to mend it once. */
const mostHopelessCalls = 2

/** A turn ends when a gateway asks for a longer pause, in milliseconds. The agent would wait without a word. */
export const longestModelPauseMs = 120_000

/** The meaning of the refusal of a call; undefined for a call that was not refused. */
export const refusalOfCall = ({ names, outcome, status, words }: ModelCall): ModelRefusal | undefined =>
  outcome === "refused" ? modelRefusal({ status, names, words: words ?? "" }) : undefined

/** The evidence that a turn's model calls give of its end. */
export interface Testimony {
  /** The number of calls that ended, without those that the agent itself gave up. */
  readonly calls: number
  /** The number of them that failed. */
  readonly failing: number
  /** The last call of the turn's model that offered tools, or of any model when there is none of the turn's. */
  readonly lastWork: ModelCall | undefined
  /** The last call that failed. */
  readonly lastFailing: ModelCall | undefined
  /**
   * The reason that the turn was ended for. Its calls failed again and again, it repeated a request that has no answer, or the gateway asked for a long
   * pause. Undefined when it was not ended.
   */
  readonly gaveUpFor: GivenUpFor | undefined
}

type GivenUpFor = "failing" | "hopeless" | "pause"

/**
 * Watches the model calls of one turn. The relay tells it of each call; the turn keeps the calls, and asks in the end what they tell. It
 * never waits, because the relay waits for it.
 */
export class Witness implements CallObserver {
  private waiting: Array<ModelCall> = []
  private count = 0
  private failing = 0
  private inARow = 0
  private hopelessInARow = 0
  private gaveUpFor: GivenUpFor | undefined
  private isRowOfWork = false
  private lastFailing: ModelCall | undefined
  private lastWork: ModelCall | undefined
  private lastOwnWork: ModelCall | undefined

  private constructor(
    private readonly model: string | null,
    private readonly bell: Mailbox.Mailbox<undefined>,
    private readonly givenUp: Deferred.Deferred<void>,
    private readonly gate: Pick<BudgetGate, "admit" | "withdrawn" | "ended">,
    private readonly told: ((call: ModelCall) => void) | undefined
  ) {}

  /** A witness of a turn with this model; null where the agent chooses it. The gate holds calls that no budget lets out. `told` hears of all. */
  static readonly make = (
    model: string | null,
    gate: Pick<BudgetGate, "admit" | "withdrawn" | "ended">,
    told?: (call: ModelCall) => void
  ) =>
    Effect.gen(function* () {
      const bell = yield* Mailbox.make<undefined>({ capacity: 1, strategy: "sliding" })
      return new Witness(model, bell, yield* Deferred.make<void>(), gate, told)
    })

  get readsAnswers(): boolean {
    return this.told !== undefined
  }

  /** Gives a value after calls that nobody has taken yet. Several calls may give one. It has no end. */
  get rings(): Stream.Stream<undefined> {
    return Mailbox.toStream(this.bell)
  }

  /** Completes when the turn is to be ended, because its calls fail again and again. */
  get gaveUp(): Effect.Effect<void> {
    return Deferred.await(this.givenUp)
  }

  refusal(): CallRefusal | undefined {
    if (this.gaveUpFor === undefined) return undefined
    // A status of 400 tells the agent not to try again.
    return { status: 400, type: "gateway_failing", message: "Model calls of this turn have failed, so it ends." }
  }

  admit = (requestBytes: number | null): Promise<CallLeave | CallRefusal> => this.gate.admit(requestBytes)

  withdrawn(leave: CallLeave): void {
    this.gate.withdrawn(leave)
  }

  ended(call: ModelCall): void {
    this.gate.ended(call)
    this.told?.(call)
    this.waiting.push(call)
    this.bell.unsafeOffer(undefined)
    if (call.outcome === "abandoned") return
    this.count += 1
    const isWork = call.hasTools !== false
    const isOwnWork = isWork && (this.model === null || call.model === null || call.model === this.model)
    if (isWork) this.lastWork = call
    if (isOwnWork) this.lastOwnWork = call
    if (isFailing(call)) this.fail(call, isWork, isOwnWork)
    // A title that succeeds between two failures of the work does not mend them.
    else if (isWork || !this.isRowOfWork) {
      this.inARow = 0
      this.isRowOfWork = false
    }
    if (isOwnWork && !isFailing(call)) this.hopelessInARow = 0
  }

  /** The calls that have ended since they were last taken. */
  take(): ReadonlyArray<ModelCall> {
    const calls = this.waiting
    this.waiting = []
    return calls
  }

  /** Puts calls back that could not be kept. */
  putBack(calls: ReadonlyArray<ModelCall>): void {
    this.waiting = [...calls, ...this.waiting]
  }

  /** The evidence of the calls so far. */
  testimony(): Testimony {
    return {
      calls: this.count,
      failing: this.failing,
      lastWork: this.lastOwnWork ?? this.lastWork,
      lastFailing: this.lastFailing,
      gaveUpFor: this.gaveUpFor
    }
  }

  private fail(call: ModelCall, isWork: boolean, isOwnWork: boolean): void {
    this.failing += 1
    // The call that the turn was ended for is the one to tell of.
    if (this.gaveUpFor !== undefined) return
    this.lastFailing = call
    this.inARow += 1
    this.isRowOfWork ||= isWork
    const refusal = refusalOfCall(call)
    const waits = call.pauseMs !== null
    if (isOwnWork) this.hopelessInARow = refusal === undefined || refusal.passes || waits ? 0 : this.hopelessInARow + 1
    if (isOwnWork && (call.pauseMs ?? 0) > longestModelPauseMs) this.gaveUpFor = "pause"
    else if (this.hopelessInARow >= mostHopelessCalls) this.gaveUpFor = "hopeless"
    else if (this.inARow >= mostFailingCalls) this.gaveUpFor = "failing"
    if (this.gaveUpFor !== undefined) Deferred.unsafeDone(this.givenUp, Effect.void)
  }
}
