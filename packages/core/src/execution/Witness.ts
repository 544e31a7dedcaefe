import { Deferred, Effect, Mailbox, type Stream } from "effect"
import {
  type CallLeave,
  type CallObserver,
  type CallRefusal,
  isFailing,
  type ModelCall
} from "../relay/gateway/ModelCall.js"
import type { BudgetGate } from "./BudgetGate.js"

/** A turn ends when so many of its model calls have failed in a row. Agents that retry without an end would ask on until the deadline. */
export const mostFailingCalls = 30

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
  /** True when the turn was ended because its calls failed again and again. */
  readonly hasGivenUp: boolean
}

/**
 * Watches the model calls of one turn. The relay tells it of each call; the turn keeps the calls, and asks in the end what they tell. It
 * never waits, because the relay waits for it.
 */
export class Witness implements CallObserver {
  private waiting: Array<ModelCall> = []
  private count = 0
  private failing = 0
  private inARow = 0
  private hasGivenUp = false
  private isRowOfWork = false
  private lastFailing: ModelCall | undefined
  private lastWork: ModelCall | undefined
  private lastOwnWork: ModelCall | undefined

  private constructor(
    private readonly model: string | null,
    private readonly bell: Mailbox.Mailbox<undefined>,
    private readonly givenUp: Deferred.Deferred<void>,
    private readonly gate: Pick<BudgetGate, "admit" | "withdrawn" | "ended">
  ) {}

  /** A witness of a turn with this model; null where the agent chooses the model. The gate holds the calls that a budget does not let out. */
  static readonly make = (model: string | null, gate: Pick<BudgetGate, "admit" | "withdrawn" | "ended">) =>
    Effect.gen(function* () {
      const bell = yield* Mailbox.make<undefined>({ capacity: 1, strategy: "sliding" })
      return new Witness(model, bell, yield* Deferred.make<void>(), gate)
    })

  /** Gives a value after calls that nobody has taken yet. Several calls may give one. It has no end. */
  get rings(): Stream.Stream<undefined> {
    return Mailbox.toStream(this.bell)
  }

  /** Completes when the turn is to be ended, because its calls fail again and again. */
  get gaveUp(): Effect.Effect<void> {
    return Deferred.await(this.givenUp)
  }

  refusal(): CallRefusal | undefined {
    if (!this.hasGivenUp) return undefined
    // A status of 400 tells the agent not to try again.
    return {
      status: 400,
      type: "gateway_failing",
      message: `${mostFailingCalls} model calls in a row have failed, so the turn ends.`
    }
  }

  admit = (requestBytes: number | null): Promise<CallLeave | CallRefusal> => this.gate.admit(requestBytes)

  withdrawn(leave: CallLeave): void {
    this.gate.withdrawn(leave)
  }

  ended(call: ModelCall): void {
    this.gate.ended(call)
    this.waiting.push(call)
    this.bell.unsafeOffer(undefined)
    if (call.outcome === "abandoned") return
    this.count += 1
    const isWork = call.hasTools !== false
    if (isWork) {
      this.lastWork = call
      if (this.model === null || call.model === null || call.model === this.model) this.lastOwnWork = call
    }
    if (isFailing(call)) this.fail(call, isWork)
    // A title that succeeds between two failures of the work does not mend them.
    else if (isWork || !this.isRowOfWork) {
      this.inARow = 0
      this.isRowOfWork = false
    }
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
      hasGivenUp: this.hasGivenUp
    }
  }

  private fail(call: ModelCall, isWork: boolean): void {
    this.failing += 1
    this.lastFailing = call
    this.inARow += 1
    this.isRowOfWork ||= isWork
    if (this.inARow < mostFailingCalls) return
    this.hasGivenUp = true
    Deferred.unsafeDone(this.givenUp, Effect.void)
  }
}
