import type { SessionId } from "@reins/base/domain/Ids"
import type { MakingEar } from "@reins/machine/bench/Bench"
import type { SnapshotError } from "@reins/machine/bench/snapshots/TreeSnapshots"
import type { ObjectSource } from "@reins/machine/bench/TreeOrder"
import { GitError } from "@reins/machine/repository/run/GitError"
import { Effect, Schedule, type Scope } from "effect"
import { systemActor } from "../access/Access.js"
import { Placements } from "../placement/Placements.js"
import type { WorkspaceSeed } from "../sessions/creation/SessionOrigin.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Journal } from "../store/Journal.js"
import { gitCredentials } from "./GitCredentials.js"
import { ownedCommits } from "./OwnedCommits.js"
import { Snapshots } from "./snapshots/Snapshots.js"

const actor = systemActor("workspaces")

/** Bytes of a snapshot could not be had. */
export const notHad = ({ message, retryable }: SnapshotError) =>
  new GitError({ kind: retryable ? "remote_unavailable" : "internal", message })

/** The place of the changesets of a session, also where another node has its files: those are made of its snapshot for the while. */
export const objectsOf = Effect.gen(function* () {
  const placements = yield* Placements
  const snapshots = yield* Snapshots
  return Effect.fnUntraced(function* (id: SessionId): Effect.fn.Return<ObjectSource, SnapshotError, Scope.Scope> {
    const place = yield* placements.at(id)
    if (place.kind === "here" && !place.awaited) return { session: id }
    return yield* snapshots.objects(id)
  })
})

/** Gives the answers to what a bench asks while it makes the files of a session. */
export const makeListeners = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const journal = yield* Journal
  const commit = yield* ownedCommits
  const gitCredential = yield* gitCredentials
  const sourceOf = yield* objectsOf

  /** Completes once a session was closed. A database that is away for a moment closes none. */
  const closed = (row: SessionRow) =>
    Effect.asVoid(
      Effect.repeat(
        Effect.catchAllDefect(sessions.find(row.id), () => Effect.succeed(row)),
        {
          until: (found) => found === undefined || found.lifecycle === "closed",
          schedule: Schedule.spaced("1 second")
        }
      )
    )

  return (row: SessionRow): Omit<MakingEar, "beside" | "clear"> => ({
    credential: gitCredential(row),
    seed: Effect.suspend(() => {
      const seed: WorkspaceSeed = JSON.parse(row.tree.seed ?? "null")
      return Effect.mapError(sourceOf(seed.session_id), notHad)
    }),
    setup: (notes) => Effect.asVoid(commit(row.id, journal.append(row.id, actor, notes))),
    closed: closed(row)
  })
})
