import { failpoint } from "@reins/base/base/Failpoint"
import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { Cause, Deferred, Effect, Exit, Option } from "effect"
import { systemActor } from "../access/Access.js"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { existingOf } from "../store/Existing.js"
import { Leases } from "./Leases.js"
import { ownedCommits } from "./OwnedCommits.js"
import { makeListeners } from "./TreeEars.js"
import { setupOrders, treeOriginOf } from "./TreeOrders.js"
import type { makeWorkspaceMake } from "./WorkspaceMaking.js"

const actor = systemActor("workspaces")

/**
 * Begins to start the agent of a session whose lease is held and whose workspace is being made, and does not wait for it. The effect that it gets
 * waits until the workspace is there, and gives false when it cannot be made.
 */
export type Beside = (session: SessionRow, made: Effect.Effect<boolean>) => Effect.Effect<void>

/** Gives a session whose object store is gone or in doubt its objects back, and stops an agent that does not see them. */
export const makeReattachUnless = Effect.gen(function* () {
  const { agents, trees } = yield* Bench
  const earOf = yield* makeListeners

  return Effect.fnUntraced(function* (row: SessionRow) {
    if ((yield* trees.look(row.id)).isReliable) return
    if ((yield* trees.reattach(treeOriginOf(row), earOf(row))) && row.executor.lease !== null)
      yield* agents.stop(row.executor.lease.id)
  })
})

/** Brings what the setup of a project leaves back into a session that came from a snapshot, unless it was brought already. */
const makeSetUpAgain = Effect.gen(function* () {
  const { trees } = yield* Bench
  const projects = yield* Projects
  const earOf = yield* makeListeners
  const setupOf = yield* setupOrders
  const existing = existingOf("session", (yield* SessionStore).find)

  return Effect.fnUntraced(function* (id: SessionId) {
    if (!(yield* trees.look(id)).owesSetup) return
    const session = yield* existing(id)
    const setup = yield* setupOf(session, yield* projects.specOf(session))
    if (setup !== null) yield* trees.setUpAgain(treeOriginOf(session), setup, earOf(session))
  })
})

/** Makes a lease and the workspace. The lease is committed before anything is made for it, and lost when that cannot be made. */
export const makePrepare = Effect.fnUntraced(function* (
  make: Effect.Effect.Success<typeof makeWorkspaceMake>,
  reattach: Effect.Effect.Success<typeof makeReattachUnless>
) {
  const again = yield* makeSetUpAgain
  const { agents } = yield* Bench
  const commit = yield* ownedCommits
  const sessions = yield* SessionStore
  const leases = yield* Leases
  const existing = existingOf("session", sessions.find)

  /** Ends the allocation of a lease, unless the lease has moved on meanwhile. */
  const settle = (id: SessionId, end: ReturnType<typeof leases.lose>) =>
    commit(
      id,
      Effect.flatMap(existing(id), (row) => (row.executor.lease?.state === "allocating" ? end : Effect.void))
    )

  /** Makes the workspace, and gives the session. No agent is left of a lease that has ended by then. */
  const makeBeside = Effect.fnUntraced(function* (id: SessionId, beside: Beside) {
    const made = yield* Deferred.make<boolean>()
    const leaseId = (yield* existing(id)).executor.lease?.id
    const stopAgent = Effect.suspend(() => (leaseId === undefined ? Effect.void : agents.stop(leaseId)))
    const row = yield* make(id, (row) => beside(row, Deferred.await(made))).pipe(
      Effect.tap((row) => Effect.zipRight(again(row.id), reattach(row))),
      Effect.onError((cause) => Effect.zipRight(stopAgent, settle(id, leases.lose(id, actor, reasonOf(cause))))),
      Effect.zipRight(settle(id, leases.move(id, "ready", actor, null))),
      Effect.zipRight(existing(id)),
      Effect.onExit((exit) => Deferred.succeed(made, Exit.isSuccess(exit)))
    )
    if (row.executor.lease?.id !== leaseId || row.executor.lease?.state !== "ready") yield* stopAgent
    return row
  })

  return Effect.fnUntraced(function* (id: SessionId, beside: Beside = () => Effect.void) {
    const before = yield* existing(id)
    if (before.executor.lease?.state === "quiescing") {
      // Its release has not ended it yet, and the turn that is prepared now needs a lease of its own.
      yield* leases.reap(before)
      yield* commit(id, leases.move(id, "released", actor, "superseded"))
    }
    yield* commit(id, leases.allocate(id, actor))
    yield* failpoint("executor.allocated")
    return yield* makeBeside(id, beside)
  })
})

const reasonOf = (cause: Cause.Cause<GitError>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterrupted(cause) ? "cancelled" : "failed"),
    onSome: (error) => error.kind
  })
