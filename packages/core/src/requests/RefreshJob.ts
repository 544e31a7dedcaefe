import { fn } from "@reins/base/base/Traced"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import type { Delivery } from "../deliveries/Delivery.js"
import { DeliveryStore } from "../deliveries/DeliveryStore.js"
import { deliveryError, deliveryRemote } from "../deliveries/work/DeliveryRemote.js"
import { deliveryActor as actor } from "../deliveries/work/DeliverySteps.js"
import { JobError, type JobWork, type RunningAttempt } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { forgeAccess, isPassing } from "./looks/ForgeAccess.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"
import { readNow } from "./rows/Reading.js"

/** Looks at the remote branch of a delivery and at its open merge requests. It changes nothing there. */
export const refreshWork = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  const sessions = yield* SessionStore
  const { changes } = yield* Bench
  const remoteOf = yield* deliveryRemote
  const refreshMergeRequests = yield* makeRefreshMergeRequests

  const step = (
    attempt: RunningAttempt,
    delivery: Delivery,
    outcome: "succeeded" | "failed",
    detail: Record<string, unknown>
  ) =>
    deliveries.addStep(
      delivery.id,
      { kind: "observe", outcome, attempt: attempt.claim.attempt, detail: { branch: delivery.target_ref, ...detail } },
      actor
    )

  return {
    run: fn("refreshJob.run")(function* (attempt) {
      const delivery = yield* deliveries.find(attempt.claim.subject.id)
      const session = delivery === undefined ? undefined : yield* sessions.find(delivery.session_id)
      if (delivery === undefined || session === undefined) return { state: "succeeded" as const, command: Effect.void }
      const remote = yield* remoteOf(delivery, session)
      const head = yield* changes
        .head(remote)
        .pipe(
          Effect.catchTag("GitError", (error) =>
            Effect.zipRight(
              attempt.commit(step(attempt, delivery, "failed", { kind: error.kind, message: error.message })),
              Effect.fail(deliveryError(error))
            )
          )
        )
      yield* attempt.commit(
        Effect.zipRight(deliveries.observe(delivery, head), step(attempt, delivery, "succeeded", { head }))
      )
      yield* refreshMergeRequests(attempt, delivery)
      return { state: "succeeded" as const, command: Effect.void }
    }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})

/** Gives the function that writes down how the forge has the open merge requests of a delivery. */
const makeRefreshMergeRequests = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const access = yield* forgeAccess
  return Effect.fnUntraced(function* (attempt: RunningAttempt, delivery: Delivery) {
    for (const request of yield* store.openOf(delivery.id)) {
      const { number } = request
      if (number === null) continue
      const seen = yield* access(attempt, request, (forge) => readNow(forge.get(number))).pipe(
        Effect.catchTag("ForgeError", (error) =>
          Effect.fail(new JobError({ code: error.kind, message: error.message, retryable: isPassing(error) }))
        )
      )
      yield* attempt.commit(
        Effect.flatMap(store.find(request.id), (current) =>
          current?.state === "open" ? store.keepReading(request.id, seen, actor) : Effect.void
        )
      )
    }
  })
})
