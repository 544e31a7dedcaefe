import { failpoint } from "@reins/base/base/Failpoint"
import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { GitError } from "@reins/machine/repository/run/GitError"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { Quotas } from "../sessions/rows/Quotas.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { newestTurn } from "../sessions/turns/NewestTurn.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import { Leases } from "./Leases.js"
import { makeFiles } from "./Materializing.js"
import { ownedCommits } from "./OwnedCommits.js"
import { Snapshots } from "./snapshots/Snapshots.js"
import { notHad } from "./TreeEars.js"
import { WorkingTreeStore } from "./WorkingTreeStore.js"

const actor = systemActor("workspaces")

/** The ends of turns whose agent has worked in the workspace. */
const withFiles = ["succeeded", "interrupted"] as const

/**
 * Makes the workspace of a session unless it is ready. The caller keeps everybody else from making or removing it. `beside` runs while the files
 * are made, unless a setup makes them, because that has the home of the agent for itself.
 */
export const makeWorkspaceMake = Effect.gen(function* () {
  const journal = yield* Journal
  const commit = yield* ownedCommits
  const leases = yield* Leases
  const sessions = yield* SessionStore
  const store = yield* WorkingTreeStore
  const quotas = yield* Quotas
  const db = yield* Database
  const snapshots = yield* Snapshots
  const { trees } = yield* Bench
  const materialize = yield* makeFiles
  const existing = existingOf("session", sessions.find)

  return Effect.fnUntraced(function* (id: SessionId, beside: (row: SessionRow) => Effect.Effect<void> = nothing) {
    const row = yield* existing(id)
    if (row.tree.state === "ready") return row
    if (row.tree.state === "removed") return yield* removed
    if (row.tree.state !== "preparing")
      yield* commit(
        id,
        quotas.workingTree(row.workspace_id).pipe(
          Effect.mapError(({ message }) => new GitError({ kind: "quota_exhausted", message })),
          Effect.zipRight(store.move(row, "preparing"))
        )
      )
    // A process that was killed while it made the workspace may have left an agent there.
    else yield* leases.reap(row)
    const base = yield* materialize(row, beside(row))
    const { base_commit } = base
    // A repository whose filters cannot be told is worked on all the same.
    const filtersOf =
      base_commit === null ? Effect.succeed([]) : Effect.orElseSucceed(trees.filters(id, base_commit), () => null)
    const [, filters] = yield* Effect.all([Effect.mapError(snapshots.restoreApart(id), notHad), filtersOf], {
      concurrency: 2
    })
    yield* failpoint("workspace.made")
    // A session that has worked already has lost its first workspace with the machine.
    const lost_turn = yield* newestTurn(db, id, withFiles)
    yield* commit(
      id,
      Effect.gen(function* () {
        yield* store.move({ id, tree: { state: "preparing" } }, "ready", base)
        yield* journal.append(id, actor, [
          {
            type: "workspace.restored",
            payload: { base_commit: base.base_commit, path: null, snapshot_id: null, lost_turn, filters }
          }
        ])
      })
    )
    return yield* existing(id)
  })
})

const nothing = () => Effect.void

const removed = new GitError({
  kind: "not_found",
  message: "The session is closed and its workspace removed. Its changesets can still be read."
})
