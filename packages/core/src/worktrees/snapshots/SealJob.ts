import { fn } from "@reins/base/base/Traced"
import { SessionId } from "@reins/base/domain/Ids"
import type { SnapshotError } from "@reins/machine/bench/snapshots/TreeSnapshots"
import { Effect } from "effect"
import { JobError, type JobKind } from "../../jobs/JobKind.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { WorkingTrees } from "../WorkingTrees.js"
import { sealJobKind } from "./SnapshotStore.js"
import { Snapshots } from "./Snapshots.js"

const jobErrorOf = ({ message, retryable }: SnapshotError): JobError =>
  new JobError({ code: "snapshot_failed", message, retryable })

/** Seals a session that has changed. While a turn runs it leaves that to the end of the turn. */
export const sealJob = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const snapshots = yield* Snapshots
  const trees = yield* WorkingTrees
  /** A turn that is being prepared seals the session itself, and may wait for the workspace that this job uses. */
  const isWorking = (id: SessionId) =>
    Effect.map(sessions.find(id), (row) => row?.turns.active != null && row.turns.active.state !== "preparing")

  return {
    kind: sealJobKind,
    concurrency: 2,
    deadlineMs: 30 * 60_000,
    run: fn("sealJob.run")(function* ({ claim }) {
      const id = SessionId.make(claim.subject.id)
      // A session that another node gets, sealed, is not brought there for this.
      if (!(yield* snapshots.isUnsealed(id))) return { state: "succeeded" as const, command: Effect.void }
      if (yield* isWorking(id)) return { state: "succeeded" as const, command: snapshots.leave(id, claim.jobId) }
      yield* Effect.mapError(trees.exclusive(id, snapshots.seal(id)), jobErrorOf)
      return { state: "succeeded" as const, command: Effect.void }
    }),
    failed: ({ jobId, subject }) => snapshots.leave(SessionId.make(subject.id), jobId),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
