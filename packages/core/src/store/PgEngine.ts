import { Cause, Effect, FiberRef, Option } from "effect"
import type pg from "pg"
import { onceItIsFree } from "./BusyDatabase.js"
import type { Engine } from "./Database.js"
import { isConnectionLost, onceItIsBack } from "./LostConnection.js"
import { retryLostRace } from "./LostRace.js"
import { PgBatch } from "./PgBatch.js"
import { isForgotten, PgStatements } from "./PgStatements.js"
import { idleLimit, PgTransaction } from "./PgTransaction.js"
import { isRead, PreparedQuery, type Query } from "./Query.js"

/**
 * Runs statements on the connections of a pool. Within a transaction a statement whose rows nobody reads goes to the server with the next
 * one. When it fails, the transaction fails with that error at the next statement that is waited for, or at its end.
 */
export const make = (pool: pg.Pool, idleInTransactionMs: number): Engine => {
  const limit = idleLimit(idleInTransactionMs)
  const current = FiberRef.unsafeMake<PgTransaction | undefined>(undefined)
  const statements = new PgStatements()

  const connection = Effect.async<pg.PoolClient>((resume) => {
    pool.connect((error, client) =>
      resume(client === undefined ? Effect.die(statements.failureOf(error)) : Effect.succeed(client))
    )
  })

  // An interrupted fiber waits for the answer to its statement, because its next step must not come before the answer.
  const alone = <Row extends object>(query: Query<Row>): Effect.Effect<ReadonlyArray<Row>> =>
    Effect.uninterruptible(
      Effect.flatMap(connection, (client) =>
        Effect.async((resume) => {
          client.query(
            new PgBatch<Row>(statements, [statements.of(query)], (error, rows) => {
              const failure = error === undefined ? undefined : statements.failureOf(error)
              client.release(isConnectionLost(failure))
              resume(failure === undefined ? Effect.succeed(rows) : Effect.die(failure))
            })
          )
        })
      )
    )

  const outside = <Row extends object>(query: Query<Row>) =>
    onceItIsFree(
      isReadOnly(query) ? patiently(retryLostRace(alone(query))) : unlessForgotten(retryLostRace(alone(query)))
    )

  const outermost = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(connection, (client) => {
        const transaction = new PgTransaction(client, statements, limit)
        return Effect.flatMap(Effect.exit(restore(Effect.locally(effect, current, transaction))), transaction.end)
      })
    )

  /** The open transaction of the fiber. A fiber that was forked in a transaction and outlives it is in none. */
  const whereItStands = <A, E, R>(
    next: (transaction: PgTransaction | undefined) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime((fiber) => {
      const transaction = fiber.getFiberRef(current)
      return next(transaction?.isOpen === true ? transaction : undefined)
    })

  const run = (query: Query<object>) =>
    whereItStands((open) => (open ? open.send(query) : Effect.asVoid(outside(query))))

  return {
    all: (query) => whereItStands((open) => (open ? open.ask(query) : outside(query))),
    run,
    runLast: run,
    transaction: (effect) =>
      whereItStands((open) => (open ? open.nest(effect) : onceItIsFree(patiently(retryLostRace(outermost(effect)))))),
    breakSilent: (silentMs) => Effect.sync(() => statements.breakSilent(silentMs))
  }
}

const isReadOnly = (query: Query<object>): boolean =>
  query instanceof PreparedQuery ? query.prepared.isRead : isRead(query.compile()[0])

/** Runs an effect again while the server is away. The effect must leave nothing behind when it fails. */
const patiently = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchAllCause(effect, (cause) =>
    isConnectionLost(defectOf(cause)) || isForgotten(defectOf(cause)) ? onceItIsBack(effect) : Effect.failCause(cause)
  )

const unlessForgotten = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchAllCause(effect, (cause) => (isForgotten(defectOf(cause)) ? effect : Effect.failCause(cause)))

const defectOf = (cause: Cause.Cause<unknown>): unknown => Option.getOrUndefined(Cause.dieOption(cause))
