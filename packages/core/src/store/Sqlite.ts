import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { once } from "@reins/base/base/Once"
import { makePrivateDirectory } from "@reins/base/base/PrivateDirectory"
import { Data, Effect, Layer } from "effect"
import { Database } from "./Database.js"
import * as DatabaseFile from "./DatabaseFile.js"
import { databaseFile, restoreMarker, serverLock } from "./DataDirectory.js"
import { copyEmptyDatabase, makeEmptyDatabase } from "./EmptyDatabase.js"
import { isHeldHere } from "./FileLock.js"
import { type MigrationRefused, migrateBeside, type Others } from "./Migrations.js"
import * as SqliteEngine from "./SqliteEngine.js"
import { describeFault, storageFaultOf } from "./StorageFault.js"

/** Another server already works on the data directory. */
export class DataDirectoryInUse extends Data.TaggedError("DataDirectoryInUse")<{
  /** An absolute path. */
  readonly dataDir: string
}> {
  override get message() {
    return `Another Reins server uses the data directory ${this.dataDir}. Stop it first, or give this one its own --data-dir.`
  }
}

/** The data directory cannot be written, has no room, or its file system has no locks. */
export class DataDirectoryUnusable extends Data.TaggedError("DataDirectoryUnusable")<{
  /** An absolute path. */
  readonly dataDir: string
  /** A sentence or the beginning of one, for a person. */
  readonly why: string
}> {
  override get message() {
    return `The data directory ${this.dataDir} cannot be used: ${this.why}`
  }
}

/** The time that a write waits for a writer of another process. */
const busyMs = 2000

/**
 * The database file `reins.db` in a data directory, with its schema up to date. The directory is made when it does not exist. Fails with
 * `MigrationRefused` where this release and the data do not go together, and with `DataDirectoryUnusable` when the disk does not accept it.
 */
export const layer = (dataDir: string) =>
  Layer.scoped(
    Database,
    Effect.suspend(() => {
      const file = databaseFile(dataDir)
      // One process at a time holds the lock.
      if (isHeldHere(serverLock(dataDir))) copyEmptyDatabase(file)
      return SqliteEngine.openEngine(
        { file, synchronous: "full", busyMs },
        migrateBeside({ others: serverAtWork(dataDir) })
      )
    })
  ).pipe(
    Layer.catchAllCause((cause): Layer.Layer<Database, MigrationRefused | DataDirectoryUnusable> => {
      const fault = storageFaultOf(cause)
      return fault === undefined
        ? Layer.failCause(cause)
        : Layer.fail(new DataDirectoryUnusable({ dataDir, why: `${describeFault(fault)}.` }))
    }),
    (database) => Layer.unwrapEffect(Effect.as(usable(dataDir), database))
  )

/** The server that works on a data directory, unless it is this process. */
export const serverAtWork = (dataDir: string): Others => {
  const lock = serverLock(dataDir)
  return {
    list: Effect.suspend(() =>
      isHeldHere(lock) ? Effect.succeed(false) : Effect.orDie(DatabaseFile.isHeld(lock))
    ).pipe(Effect.map((isHeld) => (isHeld ? [{ name: `the server of ${dataDir}`, release: null }] : []))),
    keepOut: Effect.suspend(() => (isHeldHere(lock) ? Effect.void : DatabaseFile.hold(lock))).pipe(
      // The list has the server that holds it.
      Effect.catchTags({ LockHeld: () => Effect.void, DatabaseFileError: Effect.die })
    )
  }
}

/**
 * Makes the data directory when it does not exist, shuts other users out of it, and checks that this process may write to it. Fails with
 * `DataDirectoryUnusable`.
 */
export const usable = (dataDir: string) =>
  Effect.try({
    try: () => {
      makePrivateDirectory(dataDir)
      accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    },
    catch: (cause) => new DataDirectoryUnusable({ dataDir, why: whyOf(cause) })
  })

const whyOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** The database of a data directory as it is. Nothing is made, and its schema is not brought up to date. */
export const layerFileAsIs = (dataDir: string) => DatabaseFile.layer(databaseFile(dataDir))

/** A database for tests that lives as long as its layer. It is the engine of a server on a private file, which need not survive a loss of power. */
export const layerMemory = Layer.scoped(
  Database,
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const file = join(directory, "reins.db")
    writeFileSync(file, yield* freshFile)
    return yield* SqliteEngine.openEngine({ file, synchronous: "off", busyMs }, Effect.void)
  })
)

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-database-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** The file of an empty database. A process makes it once, because the statements of the schema take longer than a copy. */
const freshFile = Effect.runSync(
  once(
    Effect.gen(function* () {
      const file = join(yield* temporaryDirectory, "reins.db")
      yield* Effect.scoped(makeEmptyDatabase(file))
      return readFileSync(file)
    }).pipe(Effect.scoped)
  )
)

/** Holds a data directory for this process while the layer lives. Fails while a restore into the directory is not finished. */
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
      if (existsSync(restoreMarker(dataDir))) {
        const why = "a restore into it was broken off. Empty it and restore again."
        return yield* new DataDirectoryUnusable({ dataDir, why })
      }
    })
  )
