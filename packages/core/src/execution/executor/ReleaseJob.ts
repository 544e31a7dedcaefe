import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { ChangesetId, LeaseId, newId, SessionId } from "@reins/base/domain/Ids"
import { Effect, Schema } from "effect"
import { systemActor } from "../../access/Access.js"
import { treeCapture } from "../../changes/Capture.js"
import { ChangesetStore } from "../../changes/ChangesetStore.js"
import type { Claim } from "../../jobs/Claim.js"
import { JobError, type JobKind } from "../../jobs/JobKind.js"
import { releaseJobKind } from "../../sessions/creation/SessionLifecycles.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { Leases } from "../../worktrees/Leases.js"
import { ownedCommits } from "../../worktrees/OwnedCommits.js"
import { Snapshots } from "../../worktrees/snapshots/Snapshots.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"

const actor = systemActor("workspaces")

/**
 * A payload with `lease_id` releases that lease and keeps the workspace. A payload without it comes from the close of the session, and ends
 * both.
 */
const Payload = Schema.Struct({
  lease_id: Schema.optionalWith(Schema.NullOr(LeaseId), { exact: true }),
  reason: Schema.optionalWith(Schema.String, { default: () => "session_closed" })
})
type Payload = typeof Payload.Type

const decodePayload = (claim: Claim) => Effect.orDie(Schema.decodeUnknown(Payload)(claim.payload))

/**
 * Ends the executor of a session. It captures the changes that no changeset holds yet. When the session was closed, it also removes the files.
 */
export const releaseJob = Effect.gen(function* () {
  const store = yield* SessionStore
  const trees = yield* WorkingTrees
  const leases = yield* Leases
  const release = yield* makeRelease

  return {
    kind: releaseJobKind,
    concurrency: 2,
    deadlineMs: 10 * 60_000,
    run: fn("releaseJob.run")(function* ({ claim }) {
      const id = SessionId.make(claim.subject.id)
      yield* trees.exclusive(id, release(id, yield* decodePayload(claim)))
      return { state: "succeeded" as const, command: Effect.void }
    }),
    failed: fn("releaseJob.failed")(function* (claim, failure) {
      const session = yield* store.lock(claim.subject.id)
      const { lease_id: leaseId } = yield* decodePayload(claim)
      if (session === undefined || (leaseId !== undefined && (session.executor.lease?.id ?? null) !== leaseId)) return
      yield* leases.lose(session.id, actor, failure.code)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

/** The steps of a release. Each can be repeated, and a release that was overtaken by a newer lease does nothing. */
const makeRelease = Effect.gen(function* () {
  const store = yield* SessionStore
  const trees = yield* WorkingTrees
  const leases = yield* Leases
  const { quiesce, settle } = yield* leaseMoves
  const salvage = yield* makeSalvage
  const snapshots = yield* Snapshots
  const commit = yield* ownedCommits

  return Effect.fnUntraced(function* (id: SessionId, { lease_id: leaseId, reason }: Payload) {
    const session = yield* store.find(id)
    if (session === undefined || session.tree.state === "removed") return
    if (leaseId !== undefined && (session.executor.lease?.id ?? null) !== leaseId) return
    if (session.turns.active !== null) return yield* turnNotEnded
    yield* quiesce(id, reason)
    yield* failpoint("release.quiesced")
    yield* leases.reap(session)
    yield* failpoint("release.reaped")
    if (session.tree.state === "ready") yield* salvage(session)
    yield* failpoint("release.salvaged")
    // The agent was stopped, and may have written its last words only then.
    if (snapshots.isKept) yield* commit(id, snapshots.changed(id))
    yield* settle(session, reason)
    if (leaseId === undefined) yield* trees.remove(id)
  })
})

/** The moves of the lease that is released. */
const leaseMoves = Effect.gen(function* () {
  const commit = yield* ownedCommits
  const store = yield* SessionStore
  const leases = yield* Leases

  return {
    quiesce: (id: SessionId, reason: string) =>
      commit(
        id,
        Effect.flatMap(store.lock(id), (row) =>
          row?.executor.lease?.state === "ready" ? leases.move(id, "quiescing", actor, reason) : Effect.void
        )
      ),
    /** Ends the lease, unless a newer one has taken its place meanwhile. */
    settle: (session: SessionRow, reason: string) =>
      commit(
        session.id,
        Effect.gen(function* () {
          const row = yield* store.lock(session.id)
          if (row === undefined || row.executor.lease?.id !== session.executor.lease?.id) return
          if (row.executor.lease?.state === "quiescing") yield* leases.move(row.id, "released", actor, reason)
          if (row.executor.lease?.state === "allocating") yield* leases.lose(row.id, actor, reason)
        })
      )
  }
})

/**
 * Makes a salvage changeset when the workspace differs from the newest changeset. A workspace that cannot be captured does not stop the
 * release.
 */
const makeSalvage = Effect.gen(function* () {
  const commit = yield* ownedCommits
  const changesets = yield* ChangesetStore
  const capture = yield* treeCapture

  return Effect.fnUntraced(
    function* (session: SessionRow) {
      const id = yield* newId(ChangesetId)
      const captured = yield* capture(session, id)
      const last = yield* changesets.newestSealed(session.id)
      if (captured.tree === last?.tree || (last === undefined && captured.files.length === 0)) return
      yield* commit(
        session.id,
        Effect.gen(function* () {
          yield* changesets.open(id, session.id, actor, { origin: "salvage", label: null, turnId: null })
          yield* changesets.seal(id, captured, actor)
        })
      )
    },
    Effect.catchTag("GitError", (error) =>
      Effect.logWarning("the workspace could not be captured before its release", error)
    )
  )
})

const turnNotEnded = new JobError({
  code: "turn_active",
  message: "The turn of the session has not ended yet.",
  retryable: true
})
