import { SqlClient } from "@effect/sql"
import * as SealedRecords from "@reins/base/secrets/SealedRecords"
import { archivesIn } from "@reins/machine/bench/Archives"
import { Effect } from "effect"
import { sessionsWithChanges } from "../changes/ChangesetFacts.js"
import { knownDiskId } from "../placement/cluster/DiskId.js"
import * as NodeRows from "../placement/NodeRows.js"
import { ringKeyId } from "../store/Agreements.js"
import { Database } from "../store/Database.js"
import { requireUsable, stateOf } from "../store/Migrations.js"
import type { SealedValues } from "../store/SealedValues.js"
import { type SessionFacts, sessionFacts } from "../worktrees/SessionFacts.js"
import { BackupError } from "./BackupManifest.js"

/**
 * The steps of the schema that a database has, the oldest release that works with it, its sessions, those of them that have changesets, the places of
 * their files on several machines, the key of the ring that these share, and the keys that its credentials are sealed with. Fails for a database that
 * this release does not work with, and for an empty one.
 */
export const inventory = Effect.fnUntraced(function* (sealed: SealedValues) {
  const db = yield* Database
  const state = yield* Effect.orDie(Effect.provideService(stateOf, SqlClient.SqlClient, db.sql))
  yield* Effect.mapError(requireUsable(state), ({ message }) => new BackupError({ message }))
  const { minRelease, schema } = state
  if (schema.length === 0) {
    const message = "The database is empty: there is no installation in it. Check --data-dir and --database-url."
    return yield* new BackupError({ message })
  }
  const hasNodes = db.dialect === "pg"
  return {
    schema,
    minRelease,
    sessions: yield* sessionFacts(db),
    changed: yield* sessionsWithChanges(db),
    hasNodes,
    places: hasNodes ? yield* NodeRows.places(db) : new Map<string, NodeRows.StoredPlace>(),
    ringKeyId: yield* ringKeyId(db),
    keyIds: SealedRecords.keyIds(yield* sealed(db))
  }
})

/** The facts of an installation that its backup and its doctor begin with. */
export type Inventory = Effect.Effect.Success<ReturnType<typeof inventory>>

/**
 * The sessions whose files are not all in a data directory, although no other machine has them: somebody has removed them, or another machine
 * works on the same database without saying so. A workspace that is still being made is none of them.
 */
export const missingFrom = (dataDir: string, known: Pick<Inventory, "changed" | "places" | "sessions">) =>
  known.sessions.filter((session) => isOf(dataDir, known)(session) && !isWhole(dataDir, known)(session))

/** True for a session whose files belong on this disk: no node has any, or the node of this disk has them. */
export const isOf = (dataDir: string, { places }: Pick<Inventory, "places">) => {
  const diskId = knownDiskId(dataDir)
  return ({ id }: SessionFacts): boolean => {
    const place = places.get(id)
    return place === undefined || (place.state === "placed" && place.diskId === diskId)
  }
}

/** True for a session that needs no files, and for one whose files are all in a data directory. */
export const isWhole = (dataDir: string, { changed }: Pick<Inventory, "changed">) => {
  const { hasFiles, hasObjects } = archivesIn(dataDir)
  return ({ id, lifecycle, workspace_state }: SessionFacts): boolean => {
    if (workspace_state !== "ready" && workspace_state !== "removed") return true
    // The workspace of a closed session is on its way out.
    const isOpen = workspace_state === "ready" && lifecycle !== "closed"
    return isOpen ? hasFiles(id) && hasObjects(id) : !changed.has(id) || hasObjects(id)
  }
}
