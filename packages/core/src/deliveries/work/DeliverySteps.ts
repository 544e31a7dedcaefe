import type { GitError } from "@reins/machine/repository/run/GitError"
import { Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import type { Changeset } from "../../changes/Changeset.js"
import type { RunningAttempt } from "../../jobs/JobKind.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import type { Delivery, DeliveryStep } from "../Delivery.js"
import { DeliveryStore } from "../DeliveryStore.js"
import { deliveryError } from "./DeliveryRemote.js"

/** The author of the events that the job of a delivery writes. */
export const deliveryActor = systemActor("delivery")

/** One attempt at a delivery, with the rows that it works on. */
export interface DeliveryAttempt {
  readonly attempt: RunningAttempt
  readonly delivery: Delivery
  readonly changeset: Changeset
  /** The tree of the changeset. */
  readonly tree: string
  readonly session: SessionRow
}

/** Writes the steps of an attempt down, each in a commit of its own that counts only while the attempt is the running one. */
export const deliverySteps = Effect.gen(function* () {
  const store = yield* DeliveryStore

  const done = (
    { attempt, delivery }: DeliveryAttempt,
    kind: DeliveryStep["kind"],
    detail: DeliveryStep["detail"],
    outcome: DeliveryStep["outcome"] = "succeeded"
  ) =>
    attempt.commit(store.addStep(delivery.id, { kind, outcome, attempt: attempt.claim.attempt, detail }, deliveryActor))

  const failed = (work: DeliveryAttempt, kind: DeliveryStep["kind"], detail: DeliveryStep["detail"]) =>
    done(work, kind, detail, "failed")

  return {
    done,
    failed,
    /** Writes down that git failed, and fails the job with the same reason. */
    failWith:
      (work: DeliveryAttempt, kind: DeliveryStep["kind"], detail: DeliveryStep["detail"] = {}) =>
      (error: GitError) =>
        Effect.zipRight(
          failed(work, kind, {
            kind: error.kind,
            message: error.message,
            ...(error.status !== undefined && { http_status: error.status }),
            ...detail
          }),
          Effect.fail(deliveryError(error))
        )
  }
})
