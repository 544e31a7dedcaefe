import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import type { Disk } from "@reins/machine/bench/Disk"
import { Effect } from "effect"
import { Placements } from "../placement/Placements.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"

/** The sessions that are looked up at once. */
const batch = 500

/** Gives the sessions whose files are on this disk, and which have no node yet, to this node. So one machine becomes the first of several. */
export const adoptSessions = Effect.gen(function* () {
  const { disk } = yield* Bench
  const placements = yield* Placements
  const sessions = yield* SessionStore
  const snapshots = yield* Snapshots
  const { commit } = yield* Journal
  const { sql } = yield* Database
  const { present } = yield* disk.list
  for (let from = 0; from < present.length; from += batch) {
    const some = present.slice(from, from + batch)
    // A directory may have been left by a session of another database.
    const found = yield* sessions.select({ where: sql.in("sessions.id", some) })
    const ids = found.filter(({ tree }) => tree.state !== "none").map(({ id }) => id)
    // One machine may have kept no snapshots, and as a node it can be lost.
    for (const id of yield* placements.adopt(ids)) yield* commit(snapshots.changed(id))
    yield* Effect.forEach(ids, leaveTo(placements, disk), { discard: true })
  }
  // A process that was killed may have left what it had fetched of sessions of other nodes.
  yield* disk.dropScratch
})

/** Moves files of a session away that went to another node while this one was not there. */
const leaveTo = (placements: Placements["Type"], disk: Disk) =>
  Effect.fnUntraced(function* (id: SessionId) {
    const place = yield* placements.at(id)
    if (place.kind === "here" || place.kind === "nowhere") return
    const to = yield* disk.setAside(id, place.epoch)
    if (to === null) return
    yield* Effect.logWarning("files of a session that another node has had were moved away", { session_id: id, to })
  })
