import type { SqlError } from "@effect/sql"
import { Cause, Effect, Exit } from "effect"
import type pg from "pg"
import { CommitUnknown, isConnectionLost, mayHaveCommitted } from "./LostConnection.js"
import { PgBatch } from "./PgBatch.js"
import type { PgStatement, PgStatements } from "./PgStatements.js"
import type { PreparedText, Query } from "./Query.js"

/** A statement of the transaction itself. The server keeps it prepared like any other. */
const control = (text: string): PreparedText => ({ text, isRead: false })
/** Commands lock what they change and read it anew, so they ask for no stricter level, whatever that of the database is. */
const begin = control("begin isolation level read committed")
const commit = control("commit")
const rollback = control("rollback")

/** Is set for each transaction, because poolers refuse it as a parameter of a connection and would pass a setting of a session on. */
export const idleLimit = (idleInTransactionMs: number): PreparedText =>
  control(`set local idle_in_transaction_session_timeout = ${idleInTransactionMs}`)

/**
 * A transaction on a connection of its own. Statements that nobody waits for are held back, and leave in one piece with the next statement
 * that is waited for.
 */
export class PgTransaction {
  /** False as soon as the commit or the rollback is on the way. */
  isOpen = true
  /** The first failure. The failures after it only say that there was one. */
  private failure: SqlError.SqlError | undefined
  private savepoints = 0
  private held: Array<PgStatement>

  constructor(
    private readonly client: pg.PoolClient,
    private readonly statements: PgStatements,
    limit: PreparedText
  ) {
    this.held = [statements.prepared(begin), statements.prepared(limit)]
  }

  /** Sends a statement and waits for its rows. */
  ask<Row extends object>(query: Query<Row>): Effect.Effect<ReadonlyArray<Row>> {
    return this.unlessFailed(() => this.answerTo<Row>(this.statements.of(query)))
  }

  /** Sends a statement with the next one. A failure comes with that one. */
  send(query: Query<object>): Effect.Effect<void> {
    return this.unlessFailed(() => Effect.sync(() => void this.held.push(this.statements.of(query))))
  }

  /** Runs an effect in a savepoint. A statement that fails in it fails before the savepoint ends. */
  nest<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) =>
      this.unlessFailed(() => {
        const name = `reins_${++this.savepoints}`
        this.held.push(whole(`savepoint ${name}`))
        const release = this.unlessFailed(() => this.answerTo(whole(`release savepoint ${name}`)))
        return Effect.onError(Effect.zipLeft(restore(effect), release), () => this.rollBackTo(name))
      })
    )
  }

  /** Commits the writes of an effect, or rolls them back when it or a statement failed. The connection goes back to its pool. */
  readonly end = <A, E>(exit: Exit.Exit<A, E>): Effect.Effect<A, E> =>
    Effect.async((resume) => {
      this.isOpen = false
      const isKept = Exit.isSuccess(exit) && this.failure === undefined
      const over = (failure?: SqlError.SqlError) => {
        this.client.release(failure !== undefined || isConnectionLost(this.failure))
        resume(isKept ? this.committed(exit) : this.rolledBack(exit))
      }
      const undo = () => this.submit(this.statements.prepared(rollback), over)
      // The server skips a COMMIT that comes with a statement which fails.
      if (isKept) this.submit(this.statements.prepared(commit), (failure) => (failure ? undo() : over()))
      else this.settle(undo)
    })

  /** Every statement was on the way when COMMIT was sent, so the first failure tells how far the server has come. */
  private committed<A, E>(exit: Exit.Exit<A, E>): Effect.Effect<A, E> {
    if (this.failure === undefined) return exit
    return Effect.die(mayHaveCommitted(this.failure) ? new CommitUnknown({ cause: this.failure }) : this.failure)
  }

  /** A statement that failed came before the error that the effect ended with without having waited for it. */
  private rolledBack<A, E>(exit: Exit.Exit<A, E>): Effect.Effect<A, E> {
    if (this.failure === undefined) return exit
    const comesFirst = Exit.isSuccess(exit) || (Cause.isFailure(exit.cause) && !isConnectionLost(this.failure))
    return comesFirst ? Effect.die(this.failure) : exit
  }

  private rollBackTo(savepoint: string): Effect.Effect<void> {
    return Effect.async((resume) =>
      this.settle(() =>
        this.submit(whole(`rollback to savepoint ${savepoint}`), (failure) => {
          // There is no savepoint to go back to when the transaction had failed before it.
          if (failure === undefined) this.failure = undefined
          resume(Effect.void)
        })
      )
    )
  }

  private answerTo<Row extends object>(statement: PgStatement): Effect.Effect<ReadonlyArray<Row>> {
    return Effect.async((resume) =>
      this.submit<Row>(statement, (_, rows) =>
        resume(this.failure === undefined ? Effect.succeed(rows) : Effect.die(this.failure))
      )
    )
  }

  private unlessFailed<A, E, R>(next: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => (this.failure === undefined ? next() : Effect.die(this.failure)))
  }

  /** Waits for the statements that are held back. A failure of theirs must not keep the server from the next statement. */
  private settle(next: () => void): void {
    const last = this.held.pop()
    if (last === undefined) next()
    else this.submit(last, next)
  }

  /** Sends a statement behind those that are held back. */
  private submit<Row extends object>(
    statement: PgStatement,
    answered: (failure: SqlError.SqlError | undefined, rows: ReadonlyArray<Row>) => void
  ): void {
    const batch = [...this.held, statement]
    this.held = []
    this.client.query(
      new PgBatch<Row>(this.statements, batch, (error, rows) => {
        const failure = error === undefined ? undefined : this.statements.failureOf(error)
        this.failure ??= failure
        answered(failure, rows)
      })
    )
  }
}

/** A value that is sent as it is. */
const whole = (text: string): PgStatement => ({ name: undefined, text, values: [] })
