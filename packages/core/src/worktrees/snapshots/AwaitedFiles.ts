import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import { NotRestored, Placements } from "../../placement/Placements.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import { AgentStateStore } from "../AgentStateStore.js"
import { Leases } from "../Leases.js"
import { WorkingTreeStore } from "../WorkingTreeStore.js"
import { type Restored, Snapshots } from "./Snapshots.js"

const actor = systemActor("workspaces")

/**
 * Brings the files of a session that this node awaits: from its newest snapshot, and without one so that its workspace is made anew from its repository.
 * The caller keeps everybody else from making or removing them. Dies with `NotRestored` when they cannot be made.
 */
export const awaitedFiles = Effect.gen(function* () {
  const { disk } = yield* Bench
  const db = yield* Database
  const journal = yield* Journal
  const leases = yield* Leases
  const placements = yield* Placements
  const sessions = yield* SessionStore
  const files = yield* WorkingTreeStore
  const states = yield* AgentStateStore
  const snapshots = yield* Snapshots

  /** True for a session that has a turn whose end was seen, so that there is something to go on with. */
  const hasWorked = (id: SessionId) =>
    Effect.map(
      db.first(db.sql`select id from turns
        where session_id = ${id} and state in ('succeeded', 'failed', 'cancelled') limit 1`),
      (row) => row !== undefined
    )

  /**
   * Nothing of the session was ever sealed. No agent goes on from a record that is not there. Where all turns were lost too, the next one opens
   * another native session.
   */
  const beginAnew = Effect.fnUntraced(function* (row: SessionRow) {
    if (row.tree.state === "ready" || row.tree.state === "preparing") yield* files.move(row, "none")
    const { native_session_id } = row.agent
    const kept = native_session_id !== null && (yield* hasWorked(row.id)) ? native_session_id : null
    yield* states.change(row.id, { native_session_id: kept, native_candidate: null, native_digest: null })
  })

  const settle = (id: SessionId, restored: Restored | undefined) =>
    journal.commit(
      Effect.gen(function* () {
        yield* placements.restored(id)
        const row = yield* existingOf("session", sessions.lock)(id)
        // Its agent has ended with the machine.
        yield* leases.lose(id, actor, "machine_lost")
        if (restored === undefined) return yield* beginAnew(row)
        const { lost_turn, snapshot_id } = restored
        const payload = { base_commit: row.tree.base_commit, path: null, snapshot_id, lost_turn, filters: null }
        yield* journal.append(id, actor, [{ type: "workspace.restored", payload }])
      })
    )

  return Effect.fnUntraced(function* (id: SessionId) {
    const place = yield* placements.at(id)
    if (place.kind !== "here" || !place.awaited) return
    const aside = yield* disk.setAside(id, place.epoch)
    if (aside !== null)
      yield* Effect.logWarning("files of a session that another node has had were moved away", {
        session_id: id,
        to: aside
      })
    const restored = (yield* snapshots.exists(id))
      ? yield* Effect.catchAll(snapshots.restore(id), ({ message, retryable }) =>
          Effect.die(new NotRestored({ sessionId: id, message, retryable }))
        )
      : undefined
    yield* settle(id, restored)
  })
})
