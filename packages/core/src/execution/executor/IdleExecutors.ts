import { fn } from "@reins/base/base/Traced"
import { fromNow, type Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { Journal } from "../../store/Journal.js"
import { Leases } from "../../worktrees/Leases.js"
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
    const ids = yield* leases.unused({ before, soon, limit: idleBatch })
    const begun = yield* Effect.forEach(ids, (id) => releaseOne(id, before, soon))
    return begun.filter((isBegun) => isBegun).length
  })
})

/** A turn that waits behind an unacknowledged interruption does not use the executor. */
const isIdle = ({ executor: { lease }, lifecycle, turns }: SessionRow, before: Timestamp, soon: Timestamp): boolean =>
  lease?.state === "ready" &&
  lifecycle !== "closed" &&
  lease.used_at !== null &&
  (lease.used_at <= before || lease.used_at > soon) &&
  turns.active === null &&
  (turns.queued === 0 || turns.held > 0)
