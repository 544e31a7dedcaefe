import { accessSync, constants, existsSync, mkdirSync } from "node:fs"
import { SqlClient } from "@effect/sql"
import { SqliteClient } from "@effect/sql-sqlite-node"
import SqliteDatabase from "better-sqlite3"
import { Data, Effect, Layer } from "effect"
import { clientEngine, Database, type ReadDirectly } from "./Database.js"
import * as DatabaseFile from "./DatabaseFile.js"
import { databaseFile, restoring, serverLock } from "./DataDirectory.js"
import { type DatabaseNewer, migrate } from "./Migrations.js"
import { describeFault, storageFaultOf } from "./StorageFault.js"

/** Another server already works on the data directory. */
export class DataDirectoryInUse extends Data.TaggedError("DataDirectoryInUse")<{ readonly dataDir: string }> {
  override get message() {
    return `Another Reins server uses the data directory ${this.dataDir}. Stop it first, or give this one its own --data-dir.`
  }
}

/** The data directory cannot be written, has no room, or its file system has no locks. */
export class DataDirectoryUnusable extends Data.TaggedError("DataDirectoryUnusable")<{
  readonly dataDir: string
  readonly why: string
}> {
  override get message() {
    return `The data directory ${this.dataDir} cannot be used: ${this.why}`
  }
}

/** What every connection to the file is set to. FULL makes an acknowledged commit survive a loss of power. */
const pragmas = ["synchronous = full", "foreign_keys = on", "trusted_schema = off", "busy_timeout = 2000"]

/**
 * The database file `reins.db` in a data directory, which is made if it is not there, with its schema up to date. Fails with
 * `DatabaseNewer` for the data of a newer release, and with `DataDirectoryUnusable` where the disk does not take it.
 */
export const layer = (dataDir: string) =>
  Layer.scoped(
    Database,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const pragma of pragmas) yield* Effect.orDie(sql.unsafe(`pragma ${pragma}`))
      yield* migrate
      return Database.make(sql, "sqlite", clientEngine(sql, "sqlite", yield* reader(databaseFile(dataDir))))
    })
  ).pipe(
    Layer.provide(Layer.orDie(clientLayer(dataDir))),
    Layer.catchAllCause((cause): Layer.Layer<Database, DatabaseNewer | DataDirectoryUnusable> => {
      const fault = storageFaultOf(cause)
      return fault === undefined
        ? Layer.failCause(cause)
        : Layer.fail(new DataDirectoryUnusable({ dataDir, why: `${describeFault(fault)}.` }))
    }),
    (database) => Layer.unwrapEffect(Effect.as(usable(dataDir), database))
  )

/** Makes the data directory if it is not there, and looks whether this process may write to it. */
const usable = (dataDir: string) =>
  Effect.try({
    try: () => {
      mkdirSync(dataDir, { recursive: true, mode: 0o700 })
      accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    },
    catch: (cause) => new DataDirectoryUnusable({ dataDir, why: whyOf(cause) })
  })

const whyOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** The database of a data directory as it is: nothing is made, and its schema is not brought up to date. */
export const layerAsIs = (dataDir: string) => DatabaseFile.layer(databaseFile(dataDir))

/** A second connection that only reads: it sees every commit at once, and never waits for a transaction that is open. */
const reader = (file: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new SqliteDatabase(file, { readonly: true, timeout: 2000 })),
      (connection) => Effect.sync(() => connection.close())
    ),
    (connection): ReadDirectly => {
      const prepared = new Map<string, SqliteDatabase.Statement<Array<unknown>, object>>()
      return (text, parameters) => {
        const known = prepared.get(text)
        if (known !== undefined) return known.readonly ? known.all(...parameters) : undefined
        const statement = connection.prepare<Array<unknown>, object>(text)
        if (prepared.size >= maxPrepared) prepared.clear()
        prepared.set(text, statement)
        return statement.readonly ? statement.all(...parameters) : undefined
      }
    }
  )

/** Texts are few, since values are bound; a list of values makes one text for each length. */
const maxPrepared = 500

const clientLayer = (dataDir: string) => Layer.suspend(() => SqliteClient.layer({ filename: databaseFile(dataDir) }))

/** A database that lives as long as its layer, for tests. */
export const layerMemory = Layer.effect(
  Database,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* Effect.orDie(migrate)
    return Database.make(sql, "sqlite", clientEngine(sql, "sqlite"))
  })
).pipe(Layer.provide(SqliteClient.layer({ filename: ":memory:" })), Layer.orDie)

/** Holds a data directory for this process while the layer lives. Refused while a restore into it is not finished. */
export const lockLayer = (dataDir: string) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      yield* usable(dataDir)
      yield* DatabaseFile.hold(serverLock(dataDir)).pipe(
        Effect.catchTags({
          LockHeld: () => new DataDirectoryInUse({ dataDir }),
          DatabaseFileError: ({ cause }) => new DataDirectoryUnusable({ dataDir, why: whyOf(cause) })
        })
      )
      if (existsSync(restoring(dataDir))) {
        const why = "a restore into it was broken off. Empty it and restore again."
        return yield* new DataDirectoryUnusable({ dataDir, why })
      }
    })
  )
