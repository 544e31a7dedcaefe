import { failpoint } from "@reins/base/base/Failpoint"
import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { Nodes } from "../placement/Nodes.js"
import { Placements } from "../placement/Placements.js"
import type { Lease, SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { logDefect } from "../store/FailedStatement.js"
import { Journal } from "../store/Journal.js"
import * as Loop from "../store/Loop.js"
import { Leases } from "../worktrees/Leases.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"

/** The time between two looks for sessions that can be given away, in milliseconds. */
const everyMs = 1000
/** The sessions that are looked at in one round, and those that are sealed at once. */
const batch = 1000
const width = 4

const actor = systemActor("workspaces")

/** Gives the sessions of this node away while it drains: each once no work of it runs, sealed. */
export const makeGiveAway = Effect.gen(function* () {
  const nodes = yield* Nodes
  const placements = yield* Placements
  const handOver = yield* makeHandOver
  const round = Effect.suspend(() =>
    nodes.isDraining() && nodes.holds()
      ? Effect.flatMap(placements.held(batch), (ids) =>
          Effect.forEach(ids, handOver, { concurrency: width, discard: true })
        )
      : Effect.void
  )
  yield* Loop.start({ failure: "sessions could not be given away", everyMs, round })
})

const makeHandOver = Effect.gen(function* () {
  const { disk } = yield* Bench
  const journal = yield* Journal
  const placements = yield* Placements
  const sessions = yield* SessionStore
  const snapshots = yield* Snapshots
  const trees = yield* WorkingTrees
  const releaseExecutor = yield* makeRelease

  /** Removes files that the snapshot has, all of them; what it lacks is kept, where nobody uses it. */
  const clear = Effect.fnUntraced(function* (id: SessionId, epoch: number) {
    if (yield* snapshots.isWhole(id)) yield* disk.discard(id)
    else yield* disk.setAside(id, epoch)
  })

  const give = Effect.fnUntraced(function* (id: SessionId) {
    const place = yield* placements.at(id)
    const session = yield* sessions.find(id)
    if (place.kind !== "here" || session === undefined || session.turns.active !== null) return
    yield* releaseExecutor(session)
    // The agent was stopped, and may have written its last words only then.
    yield* snapshots.sealAnew(id)
    yield* failpoint("handover.sealed")
    yield* journal.commit(placements.leave(id))
    yield* failpoint("handover.left")
    yield* clear(id, place.epoch + 1)
  })

  return (id: SessionId) =>
    Effect.gen(function* () {
      const session = yield* sessions.find(id)
      if (session === undefined || session.turns.active !== null) return
      yield* trees.exclusive(id, give(id))
    }).pipe(
      Effect.catchTag("SessionBusy", () => Effect.void),
      Effect.catchTag("SnapshotError", ({ message }) =>
        Effect.logWarning("a session stays on this node because it cannot be sealed", { session_id: id, message })
      ),
      Effect.catchAllDefect((defect) => logDefect("a session could not be given away", defect))
    )
})

/** Ends the executor of a session in order. */
const makeRelease = Effect.gen(function* () {
  const journal = yield* Journal
  const leases = yield* Leases
  const sessions = yield* SessionStore

  const move = (row: SessionRow, from: Lease["state"], to: "quiescing" | "released") =>
    journal.commit(
      Effect.flatMap(sessions.lock(row.id), (now) =>
        now?.executor.lease?.id === row.executor.lease?.id && now?.executor.lease?.state === from
          ? leases.move(row.id, to, actor, "draining")
          : Effect.void
      )
    )

  return Effect.fnUntraced(function* (row: SessionRow) {
    yield* move(row, "ready", "quiescing")
    yield* leases.reap(row)
    yield* move(row, "quiescing", "released")
  })
})
