import { archivesIn } from "@reins/machine/bench/Archives"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect, Layer } from "effect"
import { Access, systemActor } from "../access/Access.js"
import * as NodeRows from "../placement/NodeRows.js"
import { isLeaseHeld } from "../sessions/rows/Session.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Bell } from "../store/Bell.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { AgentStateStore } from "../worktrees/AgentStateStore.js"
import { Leases } from "../worktrees/Leases.js"
import { WorkingTreeStore } from "../worktrees/WorkingTreeStore.js"
import { BackupError, type BackupManifest } from "./BackupManifest.js"
import type { Inventory } from "./Inventory.js"

/** A restore takes sessions from nodes, so the nodes of a living installation have to be kept from it. */
export const withoutNodes = Effect.gen(function* () {
  const living = (yield* NodeRows.list(yield* Database)).filter(({ state }) => state !== "lost" && state !== "gone")
  if (living.length === 0) return
  return yield* new BackupError({
    message:
      `The database has nodes that are up (${living.map(({ name }) => name).join(", ")}). Restore the dump into a database of its own, and name that one ` +
      "here; of a dump that is seconds old, try again in a moment."
  })
})

const actor = systemActor("restore")

/** The services that commands on sessions need. None of them starts or ends a process. */
export const commands = <E>(database: Layer.Layer<Database, E>) =>
  Layer.mergeAll(Leases.layer, WorkingTreeStore.layer, AgentStateStore.layer).pipe(
    Layer.provideMerge(SessionStore.layer),
    Layer.provideMerge(Layer.mergeAll(Journal.layer, Access.layer, Bench.layerNone)),
    Layer.provideMerge(Layer.merge(database, Bell.layer))
  )

/** Makes the files agree with the database. Files that it does not name are deleted, and the next turn makes a workspace anew that is not whole. */
export const reconcile = Effect.fnUntraced(function* (
  stage: string,
  manifest: BackupManifest,
  { hasNodes, sessions }: Inventory
) {
  const journal = yield* Journal
  const files = yield* WorkingTreeStore
  const states = yield* AgentStateStore
  const leases = yield* Leases
  const archives = archivesIn(stage)
  const known = new Map(sessions.map((session) => [String(session.id), session]))
  for (const name of yield* archives.list) {
    const state = known.get(name)?.workspace_state
    if (state !== "ready" && state !== "removed") yield* archives.remove(name)
  }
  for (const session of sessions) {
    const whole = archives.hasFiles(session.id) && !manifest.incomplete.includes(session.id)
    // The backup of another machine has what this one lacked, and a workspace that is made anew would be in its way.
    const isElsewhere = !archives.hasObjects(session.id) && manifest.missing.includes(session.id)
    const again = session.workspace_state === "ready" && session.lifecycle !== "closed" && !whole && !isElsewhere
    if (again) yield* archives.removeFiles(session.id)
    const lost = session.native_session_id !== null && manifest.unsettled.includes(session.id)
    const native = manifest.from_snapshots[session.id]
    if (!again && !lost && native === undefined && !isLeaseHeld(session.lease_state)) continue
    yield* journal.commit(
      Effect.gen(function* () {
        // The agent of a lease ran on the machine of the backup. Its processes are not ended, because the backed-up installation may run.
        yield* leases.lose(session.id, actor, "restored")
        if (again) yield* files.move({ id: session.id, tree: { state: session.workspace_state } }, "none")
        if (lost) yield* states.change(session.id, { context_lost: 1 })
        if (native !== undefined) yield* states.goOnFrom(session.id, native)
      })
    )
  }
  const restored = sessions.filter(({ id }) => archives.hasObjects(id))
  if (hasNodes)
    yield* NodeRows.letGo(
      yield* Database,
      restored.map(({ id }) => id)
    )
})
