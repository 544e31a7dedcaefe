import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { Effect } from "effect"
import { type AttemptLost, JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import { wakeJobKind } from "./DelegationStore.js"
import { waitMessages } from "./WaitMessages.js"

/**
 * Tells the delegating session of the end with a message that starts a turn. When no turn could run, because the session is archived or its
 * connection is gone, the message is left as a note. A closed session is not told.
 */
export const wakeJob = Effect.gen(function* () {
  const { abandon, deliver } = yield* waitMessages

  const wake = Effect.fnUntraced(function* ({
    claim,
    commit
  }: RunningAttempt): Effect.fn.Return<void, JobError | AttemptLost> {
    const id = claim.subject.id
    const refused = yield* commit(deliver(id, "queue")).pipe(
      Effect.as(undefined),
      Effect.catchTag("ReinsError", Effect.succeed)
    )
    if (refused === undefined) return
    // A full queue empties, so a later attempt can start the turn after all.
    if (refused.is("quota_exhausted") && claim.attempt < claim.maxAttempts) {
      return yield* new JobError({ code: refused.code, message: refused.message, retryable: true })
    }
    yield* Effect.catchTag(commit(deliver(id, "note")), "ReinsError", () => commit(abandon(id)))
  })

  return {
    kind: wakeJobKind,
    concurrency: 4,
    deadlineMs: 60_000,
    run: fn("wakeJob.run")(function* (attempt) {
      yield* wake(attempt)
      yield* failpoint("wait.delivered")
      return { state: "succeeded" as const, command: Effect.void }
    }),
    failed: ({ subject }) => abandon(subject.id),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
