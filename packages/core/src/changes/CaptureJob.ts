import { fn } from "@reins/base/base/Traced"
import { ChangesetId } from "@reins/base/domain/Ids"
import { Effect, Schema } from "effect"
import { systemActor } from "../access/Access.js"
import type { Claim } from "../jobs/Claim.js"
import { JobError, type JobKind } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import { treeCapture } from "./Capture.js"
import { captureJobKind, changedMeanwhile } from "./CaptureCommand.js"
import { ChangesetStore } from "./ChangesetStore.js"

const actor = systemActor("capture")

const decodePayload = Schema.decodeUnknownSync(
  Schema.Struct({ expected_generation: Schema.optionalWith(Schema.String, { exact: true }) })
)

/** The workspace changed after its content was compared and before it was captured. */
const staleCapture = (generation: string, expected: string): JobError => {
  const { code, message } = changedMeanwhile(generation, expected)
  return new JobError({ code, message, retryable: false })
}

const changesetOf = (claim: Claim): ChangesetId => ChangesetId.make(claim.subject.id)

/** Captures a changeset on request, while no turn of its session runs. */
export const captureJob = Effect.gen(function* () {
  const store = yield* ChangesetStore
  const sessions = yield* SessionStore
  const trees = yield* WorkingTrees
  const snapshots = yield* Snapshots
  const capture = yield* treeCapture
  return {
    kind: captureJobKind,
    concurrency: 4,
    deadlineMs: 10 * 60_000,
    run: fn("captureJob.run")(function* ({ claim }) {
      const changeset = yield* store.find(changesetOf(claim))
      const session = changeset === undefined ? undefined : yield* sessions.find(changeset.session_id)
      if (changeset?.state !== "capturing" || session === undefined) {
        return { state: "succeeded" as const, command: Effect.void }
      }
      const captured = yield* trees
        .exclusive(session.id, capture(session, changeset.id))
        .pipe(
          Effect.mapError(
            (error) => new JobError({ code: error.kind, message: error.message, retryable: error.kind === "timeout" })
          )
        )
      const { expected_generation: expected } = decodePayload(claim.payload)
      if (expected !== undefined && captured.tree !== expected) return yield* staleCapture(captured.tree, expected)
      const sealed = store.seal(changeset.id, captured, actor)
      return { state: "succeeded" as const, command: Effect.zipRight(sealed, snapshots.changed(session.id)) }
    }),
    failed: fn("captureJob.failed")(function* (claim, failure) {
      const changeset = yield* store.find(changesetOf(claim))
      if (changeset?.state === "capturing") yield* store.fail(changeset.id, failure.message, actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
