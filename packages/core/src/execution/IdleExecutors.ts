import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import { fromNow, type Timestamp } from "../domain/Timestamp.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { Leases } from "../worktrees/Leases.js"
import { releases } from "./Releases.js"

const actor = systemActor("workspaces")

/** The most executors that are released at once. */
const idleBatch = 100

/**
 * The tolerance for a last use in the future, in milliseconds. A use that lies further ahead was noted before the clock went back, and counts
 * as idle.
 */
const clockSlackMs = 60_000

/** Begins to release the executors that were last used before the given time, each in a commit of its own. Gives their number. */
export const releaseIdleExecutors = Effect.gen(function* () {
  const { sql } = yield* Database
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const leases = yield* Leases
  const enqueueRelease = yield* releases

  const releaseOne = (id: string, before: Timestamp, soon: Timestamp) =>
    journal.commit(
      Effect.gen(function* () {
        const row = yield* sessions.lock(id)
        if (row === undefined || !isIdle(row, before, soon)) return false
        yield* leases.move(row.id, "quiescing", actor, "idle")
        yield* enqueueRelease(row, "idle")
        return true
      })
    )

  return fn("IdleExecutors.release")(function* (before: Timestamp) {
    const soon = yield* fromNow(clockSlackMs)
    const rows = yield* sessions.select({
      where: sql`lease_state = 'ready' and (lease_used_at <= ${before} or lease_used_at > ${soon})
        order by lease_used_at limit ${idleBatch}`
    })
    const begun = yield* Effect.forEach(rows, (row) => releaseOne(row.id, before, soon))
    return begun.filter((isBegun) => isBegun).length
  })
})

/** A turn that waits behind an unacknowledged interruption does not use the executor. */
const isIdle = (row: SessionRow, before: Timestamp, soon: Timestamp): boolean =>
  row.lease_state === "ready" &&
  row.lifecycle !== "closed" &&
  row.lease_used_at !== null &&
  (row.lease_used_at <= before || row.lease_used_at > soon) &&
  row.active_turn_id === null &&
  (row.queued_turns === 0 || row.held_turns > 0)
