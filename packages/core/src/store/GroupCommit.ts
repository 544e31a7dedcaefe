import { SqlError } from "@effect/sql"
import { Effect, Exit, type Fiber, FiberRef } from "effect"
import type { SqliteConnection } from "./SqliteConnection.js"
import { isSqliteError } from "./SqliteDriver.js"

/** The failure of a statement, with the error of the driver as its cause. */
export const failedBy = (cause: unknown): SqlError.SqlError =>
  new SqlError.SqlError({ cause, message: "Failed to execute statement" })

/** The most commands that share one commit. */
const largestBatch = 128

/** Milliseconds between two tries to take a lock that another process holds. */
const retryMs = 5

/** The turn of a command. The fiber of the command and the fibers that it forks are in the turn while the command runs. */
export interface CommitTurn {
  stage: "waiting" | "running" | "over"
  readonly since: number
  /** The number of open savepoints. */
  depth: number
  /** The statements that run at the end of the transaction, in their order. */
  readonly last: Array<LastStatement>
}

/** A statement for the end of a transaction, with its values. */
interface LastStatement {
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
}

/** Lets a fiber go on that waits. A `Deferred` would do the same in four times as many steps of the fiber. */
type Resume<A> = (effect: Effect.Effect<A>) => void

/** A command that has not had its turn. */
interface Waiting {
  readonly turn: CommitTurn
  readonly resume: Resume<Batch>
}

/** The commands of one transaction, each in a savepoint. `failure` is the reason that nothing of the transaction will be kept. */
interface Batch {
  size: number
  failure: unknown
  /** Those of its commands that have ended and wait for the commit. */
  readonly ended: Array<Resume<void>>
  /** The statements that its commands left for the end. */
  readonly last: Array<LastStatement>
}

/**
 * Runs commands one at a time, in the order in which they come, on the connection that writes. Commands that wait at the same time share
 * one transaction, and with it one write to the disk. A command that does not succeed takes back its own writes and no others. Its result is
 * given back only once the commit is through, because the command may have seen writes of others. When the commit fails, or SQLite
 * ends the transaction before (a full disk, an I/O error), every command of the batch dies, and the next batch begins anew.
 */
export class GroupCommit {
  private readonly current = FiberRef.unsafeMake<CommitTurn | undefined>(undefined)
  private readonly queue: Array<Waiting> = []
  private batch: Batch | undefined
  private isScheduled = false
  private busySince: number | undefined

  /** A command waits `patienceMs` for a writer of another process. `beforeCommit` is called before each commit. */
  constructor(
    private readonly writer: SqliteConnection,
    private readonly patienceMs: number,
    private readonly beforeCommit: () => void
  ) {}

  /** Runs a command when its turn has come, and gives back its result once that is on disk. */
  readonly run = <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const turn: CommitTurn = { stage: "waiting", since: performance.now(), depth: 0, last: [] }
        const begun = Effect.async<Batch>((resume) => this.enqueue({ turn, resume }))
        return Effect.matchCauseEffect(restore(begun), {
          onFailure: (cause) => {
            this.leave(turn)
            return Effect.failCause(cause)
          },
          onSuccess: ({ ended }) =>
            Effect.flatMap(Effect.zipRight(FiberRef.set(this.current, turn), Effect.exit(restore(command))), (exit) => {
              const committed = Effect.async<void>((resume) => {
                ended.push(resume)
                this.finish(turn, Exit.isSuccess(exit))
              })
              return Effect.zipRight(committed, exit)
            })
        })
      })
    )

  /** The turn of a fiber; undefined outside of every transaction. */
  turnOf(fiber: Fiber.RuntimeFiber<unknown, unknown>): CommitTurn | undefined {
    const turn = fiber.getFiberRef(this.current)
    return turn?.stage === "running" ? turn : undefined
  }

  /** Runs a statement of the command whose turn it is. */
  all(text: string, parameters?: ReadonlyArray<unknown>): ReadonlyArray<object> {
    // Outside of a transaction a statement would commit by itself, and a savepoint would open a transaction that nobody commits.
    if (this.batch === undefined || this.batch.failure !== undefined)
      throw this.batch?.failure ?? new Error("no transaction")
    try {
      return this.writer.all(text, parameters)
    } catch (failure) {
      if (!this.writer.isInTransaction) this.batch.failure = failure
      throw failure
    }
  }

  private enqueue(waiting: Waiting): void {
    this.queue.push(waiting)
    this.schedule()
  }

  /** Gives up a turn whose command was not run: its fiber was interrupted, or its transaction could not begin. */
  private leave(turn: CommitTurn): void {
    if (turn.stage === "running") this.finish(turn, false)
    const place = this.queue.findIndex((waiting) => waiting.turn === turn)
    if (place >= 0) this.queue.splice(place, 1)
  }

  /** Begins the transaction after the loop has read what has arrived, so that requests which came together are committed together. */
  private schedule(): void {
    if (this.isScheduled || this.batch !== undefined || this.queue.length === 0) return
    this.isScheduled = true
    setImmediate(this.begin)
  }

  private readonly begin = (): void => {
    this.isScheduled = false
    if (this.queue.length === 0) return
    try {
      this.writer.all("begin immediate")
    } catch (failure) {
      if (isBusy(failure)) this.waitForOthers(failure)
      else this.refuse(1, failure)
      this.schedule()
      return
    }
    this.busySince = undefined
    this.batch = { size: 0, failure: undefined, ended: [], last: [] }
    this.proceed(this.batch)
  }

  /** Waits for a writer of another process without holding up this process. */
  private waitForOthers(failure: unknown): void {
    const now = performance.now()
    const since = this.busySince ?? now
    this.busySince = since
    const patient = this.queue.findIndex(({ turn }) => now - Math.max(since, turn.since) < this.patienceMs)
    this.refuse(patient < 0 ? this.queue.length : patient, failure)
    this.isScheduled = true
    setTimeout(this.begin, retryMs)
  }

  private refuse(count: number, failure: unknown): void {
    for (const { resume, turn } of this.queue.splice(0, count)) {
      turn.stage = "over"
      resume(Effect.die(failedBy(failure)))
    }
  }

  /** Gives the turn to the next command, or commits when none waits. */
  private proceed(batch: Batch): void {
    const isOpen = batch.failure === undefined && batch.size < largestBatch
    const next = isOpen ? this.queue.shift() : undefined
    if (next === undefined) this.commit(batch)
    else {
      next.turn.stage = "running"
      batch.size++
      this.attempt("savepoint command")
      next.resume(Effect.succeed(batch))
    }
  }

  private finish(turn: CommitTurn, isKept: boolean): void {
    turn.stage = "over"
    if (!isKept) this.attempt("rollback to command")
    this.attempt("release command")
    const { batch } = this
    if (batch === undefined) return
    if (isKept) batch.last.push(...turn.last)
    queueMicrotask(() => this.proceed(batch))
  }

  private commit(batch: Batch): void {
    this.beforeCommit()
    for (const { parameters, text } of batch.last) this.attempt(text, parameters)
    this.attempt("commit")
    this.batch = undefined
    if (this.writer.isInTransaction) this.writer.all("rollback")
    const outcome = batch.failure === undefined ? Effect.void : Effect.die(failedBy(batch.failure))
    for (const resume of batch.ended) resume(outcome)
    this.schedule()
  }

  /** Runs a statement of the transaction itself: when it fails, nothing of the batch is kept. */
  private attempt(text: string, parameters: ReadonlyArray<unknown> = []): void {
    const { batch } = this
    if (batch === undefined || batch.failure !== undefined) return
    try {
      this.writer.all(text, parameters)
    } catch (failure) {
      batch.failure = failure
    }
  }
}

const isBusy = (failure: unknown): boolean => isSqliteError(failure, "SQLITE_BUSY")
