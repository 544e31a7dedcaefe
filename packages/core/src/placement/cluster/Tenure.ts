import { Effect } from "effect"
import { logDefect } from "../../store/FailedStatement.js"
import type { Times } from "../LeaseTimes.js"
import type { NodeReport } from "../Nodes.js"
import { type Applicant, type Holder, isHolder, type NodeLease } from "./NodeLease.js"

/** The time after which a renewal that was not answered is tried again, in milliseconds. */
const againMs = 500

/** A clock that never goes back and does not stand still while the process is stopped, in milliseconds. */
export type Monotonic = () => number

/**
 * The time for which this process may act for its node. It ends `marginMs` before the lease does, as its own monotonic clock counts from the
 * beginning of the last renewal. After that nothing begins until the lease was taken again, with another epoch.
 */
export class Tenure {
  private until = Number.NEGATIVE_INFINITY
  private lost = true
  private readonly ends = new Set<Effect.Effect<void>>()
  private readonly hearers = new Set<(leftMs: number) => void>()
  private readonly oneByOne = Effect.unsafeMakeSemaphore(1).withPermits(1)
  /** The lease that was taken last. */
  holder: Holder
  /** The wish of the operator as the last renewal told it. */
  isDraining = false

  constructor(
    taken: Holder,
    private readonly times: Times,
    private readonly clock: Monotonic
  ) {
    this.holder = taken
  }

  /** True while the process may act. */
  holds(): boolean {
    return !this.lost && this.clock() < this.until
  }

  /** The milliseconds for which the process may still act. */
  leftMs(): number {
    return this.lost ? 0 : Math.max(0, this.until - this.clock())
  }

  /** A lease was taken or renewed by a statement that began at `startedAt`. A renewal that comes too late changes nothing. */
  hold(holder: Holder, startedAt: number): void {
    if (this.lost && holder.epoch === this.holder.epoch && this.until > Number.NEGATIVE_INFINITY) return
    this.holder = holder
    this.lost = false
    this.until = startedAt + this.times.ttlMs - this.times.marginMs
    for (const hear of this.hearers) hear(this.endsInMs())
  }

  /** The milliseconds in which everything that acts for the node has to have ended: halfway between the end of the tenure and that of the lease. */
  private endsInMs(): number {
    return this.leftMs() + this.times.marginMs / 2
  }

  /** Adds who hears of that now, and whenever it changes. Gives the way to take it back. */
  onHeld(hear: (leftMs: number) => void): () => void {
    this.hearers.add(hear)
    hear(this.endsInMs())
    return () => this.hearers.delete(hear)
  }

  /** Adds what ends with the tenure. Gives the way to take it back. */
  onLost(end: Effect.Effect<void>): () => void {
    this.ends.add(end)
    return () => this.ends.delete(end)
  }

  /** Ends what acts for the node. It is done once, however often the end is noticed, and everybody who notices it waits for it. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    const isNew = !this.lost
    this.lost = true
    if (!isNew) return this.oneByOne(Effect.void)
    const told = Effect.logError(`the node ${this.holder.name} cannot keep its lease, and ends what it runs`)
    return this.oneByOne(
      Effect.zipRight(
        told,
        Effect.forEach([...this.ends], (end) => Effect.catchAllDefect(end, tellOfEnd), {
          concurrency: "unbounded",
          discard: true
        })
      )
    )
  })
}

const tellOfEnd = (defect: unknown) => logDefect("a part of the node could not be ended with its lease", defect)

/** The parts of a process that keep the lease of its node. */
export interface Keeping {
  readonly applicant: Applicant
  readonly clock: Monotonic
  /** The boots on the same data directory whose processes have ended. */
  readonly ended: Effect.Effect<ReadonlyArray<string>>
  readonly lease: NodeLease
  readonly report: Effect.Effect<NodeReport>
  readonly tenure: Tenure
  readonly times: Times
  /** Done when another node has lost its lease, so that somebody goes on with its work. */
  readonly othersLost: Effect.Effect<void>
  /** Done when the way to the database was broken, and when it is whole again. */
  readonly mend: Effect.Effect<void>
}

/**
 * Keeps the lease of a node for as long as the scope. It renews the lease, ends the tenure in time, and takes a free lease again. These
 * are no loops of `store/Loop.ts`, because no ring and no defect may move the times of a lease.
 */
export const keepTenure = ({ applicant, clock, ended, lease, mend, othersLost, report, tenure, times }: Keeping) => {
  /** A statement that is not answered in time is left, and its connection broken, because the way to the database may be stuck. */
  const asked = <A>(statement: Effect.Effect<A>) =>
    statement.pipe(
      Effect.disconnect,
      Effect.timeoutTo({
        duration: times.ttlMs / 3,
        onSuccess: (answer) => ({ answer }),
        onTimeout: () => undefined
      }),
      Effect.tap((answered) => (answered === undefined ? lease.breakSilent : Effect.void)),
      Effect.catchAllDefect((defect) =>
        Effect.as(logDefect("the lease of the node was not answered", defect), undefined)
      )
    )

  const renew = Effect.gen(function* () {
    const startedAt = clock()
    const renewal = yield* asked(Effect.flatMap(report, (told) => lease.renew(tenure.holder, told)))
    if (renewal === undefined) return againMs
    if (renewal.answer === undefined) {
      yield* tenure.end
      return 0
    }
    tenure.isDraining = renewal.answer.isDraining
    tenure.hold(tenure.holder, startedAt)
    if (renewal.answer.othersLost) yield* othersLost
    return times.renewMs
  })

  const retake = Effect.gen(function* () {
    // What the tenure before has left ends before anything new begins.
    yield* tenure.end
    const startedAt = clock()
    const taken = yield* asked(Effect.flatMap(ended, (boots) => lease.take(applicant, boots)))
    if (taken === undefined || !isHolder(taken.answer)) return againMs
    tenure.hold(taken.answer, startedAt)
    yield* mend
    yield* Effect.logWarning(`the node ${applicant.name} has its lease again`, { epoch: taken.answer.epoch })
    return times.renewMs
  })

  const keeping = Effect.suspend(() => (tenure.holds() ? renew : retake)).pipe(
    Effect.flatMap((waitMs) => Effect.sleep(waitMs)),
    Effect.forever
  )
  const watching = Effect.suspend(() =>
    tenure.holds()
      ? Effect.sleep(Math.max(1, tenure.leftMs()))
      : Effect.zipRight(tenure.end, Effect.sleep(times.marginMs / 4))
  ).pipe(Effect.forever)
  return Effect.zipRight(Effect.forkScoped(keeping), Effect.forkScoped(watching))
}
