import { requireAll } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import { actorOf } from "../access/Access.js"
import type { OperationRef } from "../jobs/Job.js"
import { JobStore } from "../jobs/JobStore.js"
import type { SeenSession } from "../sessions/rows/SessionRow.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import type { DeliveryAnswer } from "./DeliveriesApi.js"
import type { Delivery } from "./Delivery.js"
import { deliveryRules, retriedState, toDeliveryFor } from "./DeliveryRules.js"
import { DeliveryStore } from "./DeliveryStore.js"

/** The kind of the job that carries out a delivery; its payload is `{delivery_id}`. */
export const deliveryJobKind = "delivery.execute"
/** The kind of the job that looks at the remote of a delivery; its payload is `{delivery_id}`. */
export const refreshJobKind = "delivery.refresh"

/** A delivery for which a principal commands something. The commit holds its session. */
export interface CommandedDelivery {
  readonly principal: Principal
  readonly session: SeenSession
  readonly delivery: Delivery
}

/** True for a branch of a repository that has another URL by now. */
export const hasMoved = ({ tree: { repository } }: SeenSession, { remote_url, transport }: Delivery): boolean =>
  transport === "git_branch" && repository !== remote_url

/** The ways to start work on a delivery, each with the answer to the request. */
export const deliveryAnswers = Effect.gen(function* () {
  const journal = yield* Journal
  const jobs = yield* JobStore
  const store = yield* DeliveryStore
  const existing = existingOf("delivery", store.find)

  const answer = Effect.fnUntraced(function* (
    { delivery, principal, session }: CommandedDelivery,
    operation: OperationRef
  ) {
    const answer: DeliveryAnswer = {
      operation,
      delivery: toDeliveryFor(principal, session)(yield* existing(delivery.id)),
      event_watermark: yield* journal.append(session.id, actorOf(principal), [])
    }
    return answer
  })

  /** Enqueues a job of the delivery. */
  const start = (kind: string, commanded: CommandedDelivery) =>
    Effect.flatMap(
      jobs.enqueue({
        kind,
        subject: { type: "delivery", id: commanded.delivery.id },
        workspaceId: commanded.session.workspace_id,
        payload: { delivery_id: commanded.delivery.id },
        // A look at the remote goes through the git directory of the session too.
        filesOf: commanded.session.id,
        maxAttempts: 5,
        isSameWork: true
      }),
      (operation) => answer(commanded, operation)
    )

  return {
    start,
    /** Starts nothing, and answers with the newest job of the delivery. */
    keep: (commanded: CommandedDelivery) =>
      Effect.flatMap(jobs.newestOf(commanded.delivery.id), (operation) => answer(commanded, operation)),
    /** Carries out again a delivery that failed or is blocked. Fails with `invalid_transition` for any other one. */
    retry: Effect.fnUntraced(function* (commanded: CommandedDelivery) {
      const { delivery, principal, session } = commanded
      yield* requireAll(deliveryRules.retry, delivery)
      if (session.tree.repository !== null && hasMoved(session, delivery)) {
        yield* store.readdress(delivery.id, session.tree.repository)
      }
      yield* store.move(delivery.id, { state: retriedState(delivery) }, actorOf(principal))
      return yield* start(deliveryJobKind, commanded)
    })
  }
})
