import { failpoint } from "@reins/base/base/Failpoint"
import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { existingOf } from "../store/Existing.js"
import { Leases } from "./Leases.js"
import { ownedCommits } from "./OwnedCommits.js"
import { WorkingTreeStore } from "./WorkingTreeStore.js"

const actor = systemActor("workspaces")

/** Removes the working tree of a session, and ends its lease. */
export const makeRemove = Effect.gen(function* () {
  const { trees } = yield* Bench
  const commit = yield* ownedCommits
  const sessions = yield* SessionStore
  const files = yield* WorkingTreeStore
  const leases = yield* Leases

  return Effect.fnUntraced(function* (id: SessionId) {
    yield* trees.remove(id)
    yield* failpoint("workspace.removed")
    yield* commit(
      id,
      Effect.gen(function* () {
        // An activation may have begun a lease while the session was being closed.
        yield* leases.lose(id, actor, "session_closed")
        const row = yield* existingOf("session", sessions.find)(id)
        if (row.tree.state !== "removed") yield* files.move(row, "removed")
      })
    )
  })
})
