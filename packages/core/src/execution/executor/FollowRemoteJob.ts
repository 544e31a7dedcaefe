import { fn } from "@reins/base/base/Traced"
import { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect, Schema } from "effect"
import { JobError, type JobKind } from "../../jobs/JobKind.js"
import { followRemoteJobKind } from "../../sessions/creation/RepositoryMove.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { ownedCommits } from "../../worktrees/OwnedCommits.js"
import { Snapshots } from "../../worktrees/snapshots/Snapshots.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"

const Payload = Schema.Struct({ from: Schema.String, to: Schema.String })

/** Brings the URL that a session got into the agent's own repository. A remote that the agent has changed stays as it is. */
export const followRemoteJob = Effect.gen(function* () {
  const { changes } = yield* Bench
  const sessions = yield* SessionStore
  const trees = yield* WorkingTrees
  const snapshots = yield* Snapshots
  const commit = yield* ownedCommits

  const follow = Effect.fnUntraced(function* (id: SessionId, { from, to }: typeof Payload.Type) {
    yield* trees.requireOwned(id)
    const changed = yield* changes
      .followRemote(id, from, to)
      .pipe(Effect.mapError(({ kind, message }) => new JobError({ code: kind, message, retryable: false })))
    if (changed && snapshots.isKept) yield* commit(id, snapshots.changed(id))
  })

  return {
    kind: followRemoteJobKind,
    concurrency: 2,
    deadlineMs: 10 * 60_000,
    run: fn("followRemoteJob.run")(function* ({ claim }) {
      const id = SessionId.make(claim.subject.id)
      const payload = yield* Effect.orDie(Schema.decodeUnknown(Payload)(claim.payload))
      const session = yield* sessions.find(id)
      if (session?.tree.state === "preparing") return yield* stillMaking
      if (session?.tree.state === "ready") yield* trees.exclusive(id, follow(id, payload))
      return { state: "succeeded" as const, command: Effect.void }
    }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

const stillMaking = new JobError({
  code: "executor_unavailable",
  message: "The workspace of the session is still being made.",
  retryable: true
})
