import * as Reactivity from "@effect/experimental/Reactivity"
import { SqlClient, SqlError, Statement } from "@effect/sql"
import { Effect, Scope, Stream } from "effect"
import { SqliteConnection, type SqliteOpening } from "./SqliteConnection.js"

/**
 * A client of `@effect/sql` on a connection of its own, with the texts of SQLite. It makes the file, changes its schema, and writes the texts of the
 * statements that the engine runs. The client of `@effect/sql-sqlite-node` is bound to one release of the driver, which fits no Node above 24.18.
 */
export const openSqlClient = ({
  file,
  synchronous
}: Pick<SqliteOpening, "synchronous"> & { readonly file: string }): Effect.Effect<
  SqlClient.SqlClient,
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const opening = { readonly: false, fileMustExist: false, busyMs: 5000, synchronous }
    const connection = yield* SqliteConnection.open(file, opening)
    connection.all("pragma journal_mode = wal")
    const run = (text: string, parameters: ReadonlyArray<unknown>) =>
      Effect.try({
        // A statement that is kept would know the columns from before a change of the schema.
        try: () => connection.allOnce(text, parameters),
        catch: (cause) => new SqlError.SqlError({ cause, message: "Failed to execute statement" })
      })
    const only = {
      execute: run,
      executeUnprepared: run,
      executeRaw: run,
      executeValues: (text: string, parameters: ReadonlyArray<unknown>) =>
        Effect.map(run(text, parameters), (rows) => rows.map((row) => Object.values(row))),
      executeStream: (text: string, parameters: ReadonlyArray<unknown>) =>
        Stream.fromIterableEffect(run(text, parameters))
    }
    const turns = yield* Effect.makeSemaphore(1)
    return yield* SqlClient.make({
      acquirer: turns.withPermits(1)(Effect.succeed(only)),
      // A transaction keeps the connection until its scope ends.
      transactionAcquirer: Effect.uninterruptibleMask((restore) =>
        Effect.zipRight(
          restore(turns.take(1)),
          Effect.as(
            Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, turns.release(1))),
            only
          )
        )
      ),
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [["db.system.name", "sqlite"]]
    })
  }).pipe(Effect.provide(Reactivity.layer))
