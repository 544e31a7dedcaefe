import { Boot } from "@reins/base/base/Boot"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { Leases } from "../../worktrees/Leases.js"
import { ownedCommits } from "../../worktrees/OwnedCommits.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"
import { liveState } from "./AgentDigest.js"
import { system } from "./TurnWork.js"

/**
 * Ends the agent that another process has kept for a session. While that process lives it would end whatever bears the lease when its agent is
 * gone, so the session gets another lease.
 */
export const makeFence = Effect.gen(function* () {
  const { agents } = yield* Bench
  const { alone } = yield* Boot
  const commit = yield* ownedCommits
  const leases = yield* Leases
  const trees = yield* WorkingTrees

  return Effect.fnUntraced(function* (session: SessionRow) {
    if (session.agent.native_digest !== liveState || (yield* agents.isKept(session.executor.lease?.id ?? "")))
      return session
    if (alone) return yield* Effect.as(leases.reap(session), session)
    yield* commit(session.id, leases.move(session.id, "quiescing", system, "superseded"))
    return yield* trees.prepare(session.id)
  })
})
