import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { ChangesetId, newId, type SessionId } from "@reins/base/domain/Ids"
import { systemActor } from "@reins/core/access/Access"
import { backup } from "@reins/core/backup/Backup"
import { restore } from "@reins/core/backup/Restore"
import * as Core from "@reins/core/Core"
import { treeCapture } from "@reins/core/changes/Capture"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { sealedValues } from "@reins/core/Rooms"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Layer, Logger } from "effect"

export const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-backup-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** An installation whose services can be had in one data directory after the other. */
export interface Place {
  readonly kind: "sqlite" | "postgresql"
  readonly opened: (dataDir: string) => Layer.Layer<Database | Bell>
  /** The database as it is. */
  readonly asIs: (dataDir: string) => Layer.Layer<Database, { readonly message: string }>
}

const sqlite: Place = {
  kind: "sqlite",
  opened: (dataDir) => Layer.orDie(Layer.merge(Sqlite.layer(dataDir), Bell.layer)),
  asIs: Sqlite.layerFileAsIs
}

/** SQLite travels in the backup; of PostgreSQL the same database stands for the dump that was restored. */
export const databases = [
  { name: "SQLite", place: Effect.succeed(sqlite) },
  {
    name: "PostgreSQL",
    place: Effect.map(
      postgresDatabase,
      (url): Place => ({
        kind: "postgresql",
        opened: () => Layer.orDie(Postgres.layer(url)),
        asIs: () => Postgres.layerAsIs(url)
      })
    )
  }
]

/** Every service over a data directory; no job is worked. */
export const installation = (place: Place, dataDir: string, config: Partial<CoreConfig["Type"]> = {}) =>
  Core.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        CoreConfig.layer({ dataDir, executors: ["local"], prewarm: false, ...config }),
        place.opened(dataDir),
        Boot.layerSingle
      )
    ),
    Layer.provide([Logger.remove(Logger.defaultLogger), PasswordCost.layerTest])
  )

export const backUp = (
  place: Place,
  dataDir: string,
  target: string,
  change: Partial<Parameters<typeof backup>[0]> = {}
) =>
  Effect.provide(
    backup({
      sealed: sealedValues,
      dataDir,
      config: CoreConfig.from({ dataDir }),
      keyFile: undefined,
      database: place.kind,
      target,
      release: "1.2.3",
      progress: () => Effect.void,
      ...change
    }),
    place.asIs(dataDir)
  )

export const restoreTo = (
  place: Place,
  file: string,
  dataDir: string,
  change: Partial<Parameters<typeof restore>[0]> = {}
) =>
  restore({
    sealed: sealedValues,
    file,
    dataDir,
    keyFile: join(dataDir, "keyring.json"),
    keyRing: undefined,
    withoutKeys: false,
    database: place.kind === "sqlite" ? undefined : place.asIs(dataDir),
    progress: () => undefined,
    ...change
  })

/** A changeset of what the workspace holds now, as a capture makes it. */
export const capture = (sessionId: SessionId) =>
  Effect.gen(function* () {
    const changesets = yield* ChangesetStore
    const journal = yield* Journal
    const id = yield* newId(ChangesetId)
    const row = yield* (yield* SessionStore).find(sessionId)
    if (row === undefined) return yield* Effect.dieMessage(`no session ${sessionId}`)
    const from = { origin: "explicit" as const, label: null, turnId: null }
    yield* journal.commit(changesets.open(id, sessionId, systemActor("test"), from))
    const captured = yield* Effect.orDie((yield* treeCapture)(row, id))
    yield* journal.commit(changesets.seal(id, captured, systemActor("test")))
    return id
  })
