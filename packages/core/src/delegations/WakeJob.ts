import { Effect } from "effect"
import { failpoint } from "../base/Failpoint.js"
import { type AttemptLost, JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import { wakeJobKind } from "./DelegationStore.js"
import { Waits } from "./Waits.js"

/**
 * Tells the session that delegated of the end, with a message that starts a turn. When no turn could run there (it is archived, or
 * its connection is gone) the message is left as a note; a session that is closed is not told.
 */
export const wakeJob = Effect.gen(function* () {
  const waits = yield* Waits

  const wake = Effect.fnUntraced(function* ({
    claim,
    commit
  }: RunningAttempt): Effect.fn.Return<void, JobError | AttemptLost> {
    const id = claim.subject.id
    const refused = yield* commit(waits.deliver(id, "queue")).pipe(
      Effect.as(undefined),
      Effect.catchTag("ReinsError", Effect.succeed)
    )
    if (refused === undefined) return
    // Its queue is full, which passes.
    if (refused.is("quota_exhausted") && claim.attempt < claim.maxAttempts)
      return yield* new JobError({ code: refused.code, message: refused.message, retryable: true })
    yield* Effect.catchTag(commit(waits.deliver(id, "note")), "ReinsError", () => commit(waits.abandon(id)))
  })

  return {
    kind: wakeJobKind,
    concurrency: 4,
    deadlineMs: 60_000,
    run: (attempt) =>
      wake(attempt).pipe(
        Effect.zipRight(failpoint("wait.delivered")),
        Effect.as({ state: "succeeded" as const, command: Effect.void })
      ),
    failed: ({ subject }) => waits.abandon(subject.id),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
