import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { Placements } from "../placement/Placements.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"

/** Commits for sessions whose files this node has. A commit dies with `NotOwner`, and writes nothing, once another node has them. */
export const ownedCommits = Effect.gen(function* () {
  const { commit } = yield* Journal
  const { fence } = yield* Placements
  return <A, E>(id: SessionId, inside: Effect.Effect<A, E, Commit>) => commit(Effect.zipRight(fence(id), inside))
})
