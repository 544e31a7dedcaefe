import { AttemptId, DeliveryId, JobId, newId, OperationId } from "@reins/base/domain/Ids"
import type { Changeset } from "@reins/core/changes/Changeset"
import type { Delivery, DeliveryOnto } from "@reins/core/deliveries/Delivery"
import { DeliveryStore } from "@reins/core/deliveries/DeliveryStore"
import { deliveryJob } from "@reins/core/deliveries/LoadedJobs"
import { AttemptLost } from "@reins/core/jobs/JobKind"
import type { Commit } from "@reins/core/store/Commit"
import { Journal } from "@reins/core/store/Journal"
import { Effect, Exit } from "effect"
import { system } from "./Fixture.js"

/** A delivery without a job, so that no worker takes it. */
export const unworked = (changeset: Changeset, url: string, target: string, onto: DeliveryOnto = "base") =>
  Effect.gen(function* () {
    const store = yield* DeliveryStore
    const id = yield* newId(DeliveryId)
    return yield* (yield* Journal).commit(
      store.insert(
        {
          id,
          changesetId: changeset.id,
          sessionId: changeset.session_id,
          transport: "git_branch",
          connectionId: null,
          targetRef: target,
          title: null,
          author: null,
          trailers: [],
          signs: false,
          keyId: null,
          updateStrategy: "fast_forward",
          onto,
          allow: [],
          remoteUrl: url
        },
        system
      )
    )
  })

/** One attempt at a delivery. Its claim is lost for good once `isLost`. */
export const attempt = (delivery: Delivery, ordinal: number, isLost: () => boolean = () => false) =>
  Effect.gen(function* () {
    const kind = yield* deliveryJob
    const journal = yield* Journal
    const store = yield* DeliveryStore
    const jobId = yield* newId(JobId)
    const claim = {
      workerId: "test",
      bootId: "boot_test",
      jobId,
      operationId: yield* newId(OperationId),
      kind: kind.kind,
      subject: { type: "delivery", id: delivery.id },
      payload: {},
      filesOf: null,
      attemptId: yield* newId(AttemptId),
      attempt: ordinal,
      maxAttempts: 5
    }
    const commit = <A, E>(command: Effect.Effect<A, E, Commit>): Effect.Effect<A, E | AttemptLost> =>
      Effect.suspend(
        (): Effect.Effect<A, E | AttemptLost> =>
          isLost() ? Effect.fail(new AttemptLost({ jobId })) : journal.commit(command)
      )
    const exit = yield* Effect.exit(kind.run({ claim, cancelRequested: Effect.never, commit }))
    if (Exit.isSuccess(exit)) yield* journal.commit(exit.value.command)
    const after = yield* store.find(delivery.id)
    return { exit, delivery: after ?? (yield* Effect.dieMessage("no delivery")) }
  })
