import type { SqlError } from "@effect/sql"
import { Cause, Effect, Exit } from "effect"
import type pg from "pg"
import { CommitUnknown, isConnectionLost, mayHaveCommitted } from "./LostConnection.js"
import type { PgStatements } from "./PgStatements.js"
import type { Query } from "./Query.js"

/**
 * A transaction on a connection of its own, whose statements are answered in the order in which they are sent. Those that nobody waits
 * for leave in one piece with the next one that somebody does.
 */
export class PgTransaction {
  /** False as soon as its commit or its rollback is on the way. */
  isOpen = true
  /** The first failure. Those after it only say that there was one. */
  private failure: SqlError.SqlError | undefined
  private savepoints = 0

  constructor(
    private readonly client: pg.PoolClient,
    private readonly statements: PgStatements,
    begin: string
  ) {
    client.connection.stream.cork()
    this.submit({ text: begin })
  }

  /** Sends a statement and waits for its rows. */
  ask<Row extends object>(query: Query<Row>): Effect.Effect<ReadonlyArray<Row>> {
    return this.unlessFailed(() => this.answerTo<Row>(this.statements.configOf(query)))
  }

  /** A statement whose failure is told by what comes after it. */
  send(query: Query<object>): Effect.Effect<void> {
    return this.unlessFailed(() => Effect.sync(() => this.submit(this.statements.configOf(query))))
  }

  /** Runs an effect in a savepoint. What fails in it fails before it ends. */
  nest<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) =>
      this.unlessFailed(() => {
        const name = `reins_${++this.savepoints}`
        this.submit({ text: `savepoint ${name}` })
        const released = Effect.zipLeft(restore(effect), this.answerTo({ text: `release savepoint ${name}` }))
        return Effect.onError(released, () => this.rollBackTo(name))
      })
    )
  }

  /** Commits what an effect has done, or rolls it back when it or a statement failed. The connection goes back to its pool. */
  readonly end = <A, E>(exit: Exit.Exit<A, E>): Effect.Effect<A, E> =>
    Effect.async((resume) => {
      this.isOpen = false
      const isKept = Exit.isSuccess(exit) && this.failure === undefined
      this.client.query(isKept ? "commit" : "rollback", (error) => {
        if (error) this.failure ??= this.statements.failureOf(error)
        this.client.release(Boolean(error) || isConnectionLost(this.failure))
        resume(isKept ? this.committed(exit) : this.rolledBack(exit))
      })
      this.client.connection.stream.uncork()
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
    return Effect.async((resume) => {
      this.client.query(`rollback to savepoint ${savepoint}`, (error) => {
        // It cannot be gone back to when the transaction had failed before it.
        if (!error) this.failure = undefined
        resume(Effect.void)
      })
      this.leave()
    })
  }

  private answerTo<Row extends object>(config: pg.QueryConfig<Array<unknown>>): Effect.Effect<ReadonlyArray<Row>> {
    return Effect.async((resume) => {
      this.submit<Row>(config, (rows) =>
        resume(this.failure === undefined ? Effect.succeed(rows) : Effect.die(this.failure))
      )
      this.leave()
    })
  }

  /** Lets go what has been held back, and holds back what comes next. */
  private leave(): void {
    const { stream } = this.client.connection
    stream.uncork()
    stream.cork()
  }

  private unlessFailed<A, E, R>(next: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => (this.failure === undefined ? next() : Effect.die(this.failure)))
  }

  private submit<Row extends object>(
    config: pg.QueryConfig<Array<unknown>>,
    answered?: (rows: ReadonlyArray<Row>) => void
  ): void {
    this.client.query<Row>(config, (error, result) => {
      if (error) this.failure ??= this.statements.failureOf(error)
      answered?.(error ? [] : result.rows)
    })
  }
}
