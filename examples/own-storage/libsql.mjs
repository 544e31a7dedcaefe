// A database of one's own: libSQL, through its client for @effect/sql. What Reins asks of a database is the `Engine` of store/Storage:
// statements, and transactions that take turns. `sql` makes the texts of the statements, which are those for SQLite.
import * as Reactivity from "@effect/experimental/Reactivity"
import { SqlClient, SqlError } from "@effect/sql"
import * as LibsqlClient from "@effect/sql-libsql/LibsqlClient"
import { createClient } from "@libsql/client"
import { Bell, Database, migrate } from "@reins/core/store/Storage"
import { Effect, Exit, FiberRef, Layer } from "effect"

/** @import { Client, InArgs, Transaction as Connection } from "@libsql/client" */
/** @import { Engine } from "@reins/core/store/Storage" */

/**
 * The transaction that a fiber is in. It is closed when it ends: a fiber that was forked in it and outlives it is outside again.
 *
 * @typedef {{ readonly connection: Connection, isOpen: boolean, depth: number }} Transaction
 */

/** A statement that fails is a defect: an `SqlError` with the error of the driver as its cause. */
const attempt = (/** @type {() => Promise<any>} */ run) =>
  Effect.promise(() =>
    run().catch((cause) => {
      throw new SqlError.SqlError({ cause, message: "Failed to execute statement" })
    })
  )

/** @returns {readonly [text: string, parameters: ReadonlyArray<unknown>]} */
const textOf = (/** @type {import("@reins/core/store/Storage").Query<object>} */ query) =>
  "prepared" in query ? [query.prepared.text, query.parameters] : query.compile()

const changesNothing = (/** @type {string} */ text) => /^\s*select\b/i.test(text)

/**
 * @param {Client} client
 * @returns {Effect.Effect<Engine>}
 */
const makeEngine = (client) =>
  Effect.gen(function* () {
    // SQLite has one writer. Whoever writes takes a turn here, where waiting costs nothing, and not in the database.
    const turns = yield* Effect.makeSemaphore(1)
    const current = FiberRef.unsafeMake(/** @type {Transaction | undefined} */ (undefined))
    const open = Effect.map(FiberRef.get(current), (transaction) => (transaction?.isOpen ? transaction : undefined))

    const ask = (/** @type {Client | Connection} */ on, /** @type {string} */ sql, /** @type {any} */ args) =>
      Effect.map(
        // An interrupted fiber waits for the answer to its statement: what it does next must not come before it.
        Effect.uninterruptible(attempt(() => on.execute({ sql, args }))),
        // Rows of the driver can be read by number, too; these are plain objects.
        ({ columns, rows }) =>
          rows.map((/** @type {any} */ row) =>
            Object.fromEntries(columns.map((/** @type {string} */ name, /** @type {number} */ at) => [name, row[at]]))
          )
      )

    const all = (/** @type {any} */ query) =>
      Effect.flatMap(open, (transaction) => {
        const [text, parameters] = textOf(query)
        if (transaction !== undefined) return ask(transaction.connection, text, parameters)
        return changesNothing(text)
          ? ask(client, text, parameters)
          : turns.withPermits(1)(ask(client, text, parameters))
      })

    const outermost = (/** @type {Effect.Effect<any, any, any>} */ effect) =>
      turns.withPermits(1)(
        Effect.acquireUseRelease(
          Effect.map(
            attempt(() => client.transaction("write")),
            (connection) => /** @type {Transaction} */ ({ connection, isOpen: true, depth: 0 })
          ),
          (transaction) => Effect.locally(effect, current, transaction),
          (transaction, exit) => {
            transaction.isOpen = false
            const { connection } = transaction
            return Effect.ensuring(
              attempt(() => (Exit.isSuccess(exit) ? connection.commit() : connection.rollback())),
              Effect.sync(() => connection.close())
            )
          }
        )
      )

    const nested = (/** @type {Transaction} */ transaction, /** @type {Effect.Effect<any, any, any>} */ effect) =>
      Effect.acquireUseRelease(
        Effect.suspend(() => {
          const name = `nested_${++transaction.depth}`
          return Effect.as(ask(transaction.connection, `savepoint ${name}`, []), name)
        }),
        () => effect,
        (name, exit) => {
          transaction.depth--
          const undo = Exit.isSuccess(exit) ? Effect.void : ask(transaction.connection, `rollback to ${name}`, [])
          return Effect.zipRight(undo, ask(transaction.connection, `release ${name}`, []))
        }
      )

    return {
      all,
      run: (query) => Effect.asVoid(all(query)),
      transaction: (effect) =>
        Effect.flatMap(open, (transaction) =>
          transaction === undefined ? outermost(effect) : nested(transaction, effect)
        )
    }
  })

/**
 * The database at a URL, as in `file:/var/lib/reins/reins.db`, with its schema up to date. Its bell rings in this process only, so one
 * process works on it.
 *
 * @param {string} url
 */
export const layer = (url) =>
  Layer.merge(
    Layer.scoped(
      Database,
      Effect.gen(function* () {
        const client = yield* Effect.acquireRelease(
          Effect.sync(() => createClient({ url })),
          (opened) => Effect.sync(() => opened.close())
        )
        // So that those who read do not wait for the one who writes.
        yield* attempt(() => client.execute("pragma journal_mode = wal"))
        const sql = yield* Effect.provide(LibsqlClient.make({ liveClient: client }), Reactivity.layer)
        yield* Effect.provideService(migrate, SqlClient.SqlClient, sql)
        return Database.make(sql, "sqlite", yield* makeEngine(client))
      })
    ),
    Bell.layer
  )
