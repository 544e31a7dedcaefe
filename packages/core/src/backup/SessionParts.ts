import type { CoreConfig } from "@reins/base/base/CoreConfig"
import { makeDirectory } from "@reins/base/base/MakeDirectory"
import { once } from "@reins/base/base/Once"
import type { SessionId } from "@reins/base/domain/Ids"
import { type Archives, archivesIn } from "@reins/machine/bench/Archives"
import { removeTree } from "@reins/machine/files/RemoveTree"
import { Effect, Either, Option, type Scope } from "effect"
import * as NodeRows from "../placement/NodeRows.js"
import { Database } from "../store/Database.js"
import type { SessionFacts } from "../worktrees/SessionFacts.js"
import { sealFacts } from "../worktrees/snapshots/SnapshotFacts.js"
import type { BackupError, BackupManifest, Lack } from "./BackupManifest.js"
import { fromSnapshots } from "./FromSnapshots.js"
import { type Inventory, isOf, isWhole } from "./Inventory.js"

/** The files of a session for a backup. */
export interface SessionSource {
  /** Where the files are: in the data directory, or below another one, made of a snapshot. Null where there are none. */
  readonly archives: Archives | null
  /** The native session of a snapshot; null for files of the data directory. */
  readonly native: BackupManifest["from_snapshots"][string] | null
  /** The things that the backup will lack; null when it will lack nothing. */
  readonly lack: Lack | null
}

const noLack = { missing: false, why: null, running: false, unsealed_since: null, left_out: [], more_left_out: 0 }

const noStore =
  "Its files are not all in this data directory, and no store of blobs is named that may have them: give REINS_BLOBS as the servers have it."
const noSnapshot = "It has no snapshot yet. It has one soon after its turn has ended."
const lostUnsealed = "Its node was lost before it was sealed: it begins anew from its repository."

/**
 * Finds the files of sessions for a backup: in the data directory where they belong there and are whole, and otherwise in their newest snapshots, which
 * are made below a directory of their own.
 */
export const sessionSources = Effect.fnUntraced(function* (
  { config, dataDir }: { readonly config: CoreConfig["Type"]; readonly dataDir: string },
  known: Inventory,
  directory: string
) {
  const db = yield* Database
  const here = archivesIn(dataDir)
  const [belongsHere, hasAll] = [isOf(dataDir, known), isWhole(dataDir, known)]
  // Nodes keep their blobs in PostgreSQL unless it is said otherwise.
  const blobs = config.blobs ?? (known.places.size > 0 ? { kind: "postgres" as const } : null)
  yield* Effect.acquireRelease(
    Effect.sync(() => makeDirectory(directory, 0o700)),
    () => Effect.promise(() => removeTree(directory))
  )
  const context = yield* Effect.context<Database | Scope.Scope>()
  const made = yield* once(
    blobs === null
      ? Effect.succeedNone
      : Effect.asSome(Effect.provide(fromSnapshots(config, blobs, directory), context))
  )

  const factsOf = Effect.fnUntraced(function* (id: SessionId) {
    const [facts] = yield* sealFacts(db, id)
    return facts ?? { active_turn_id: null, error: null, snapshot_id: null, unsealed_since: null }
  })

  const ofSnapshot = Effect.fnUntraced(function* (session: SessionFacts) {
    const place = known.places.get(session.id)
    const { active_turn_id, error, snapshot_id, unsealed_since } = yield* factsOf(session.id)
    const running = active_turn_id !== null
    const lack: Lack = { ...noLack, session_id: session.id, node: place?.node ?? null, running, unsealed_since }
    const without = (why: string): SessionSource => ({
      // A part is better than nothing.
      archives: belongsHere(session) ? here : null,
      native: null,
      lack: { ...lack, missing: true, why }
    })
    const make = yield* made
    if (Option.isNone(make)) return without(noStore)
    if (snapshot_id === null) return without(error ?? (place?.state === "lost" ? lostUnsealed : noSnapshot))
    // A snapshot gives way to a newer one, and then its blobs may go while they are read.
    const files = yield* Effect.either(Effect.retry(make.value(session.id), { times: 1 }))
    if (Either.isLeft(files)) return without(files.left.message)
    const { archives, native, restored } = files.right
    const left_out = [...restored.left_out.map(({ path }) => path), ...restored.skipped]
    const { more_left_out } = restored
    const isAll = !running && unsealed_since === null && left_out.length + more_left_out === 0
    return {
      archives,
      native,
      lack: isAll ? null : { ...lack, why: error, left_out, more_left_out }
    } satisfies SessionSource
  })

  return {
    /** The files of a session. Those that were made of a snapshot go with `drop`. */
    of: (session: SessionFacts): Effect.Effect<SessionSource, BackupError> =>
      (belongsHere(session) && hasAll(session)) || !needsFiles(known, session)
        ? Effect.succeed({ archives: here, native: null, lack: null })
        : ofSnapshot(session),
    drop: ({ id }: SessionFacts, { archives, native }: SessionSource) =>
      native === null || archives === null ? Effect.void : archives.remove(id),
    /** The lack of a session whose files went to another node while they were copied; null when they did not. */
    moved: Effect.fnUntraced(function* ({ id }: SessionFacts) {
      const before = known.places.get(id)
      if (before === undefined) return null
      const now = (yield* NodeRows.places(db, id)).get(id)
      if (now?.state === before.state && now.diskId === before.diskId) return null
      const why = "It went to another node while its files were copied: back up again."
      const lack: Lack = { ...noLack, session_id: id, node: now?.node ?? null, missing: true, why }
      return lack
    })
  }
})

/** False for a closed session without changesets: nothing of it is kept. */
const needsFiles = ({ changed }: Inventory, { id, lifecycle, workspace_state }: SessionFacts): boolean =>
  (workspace_state === "ready" && lifecycle !== "closed") || changed.has(id)
