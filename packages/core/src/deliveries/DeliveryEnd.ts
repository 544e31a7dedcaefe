import type { Actor } from "@reins/base/domain/Event"
import type { DeliveryId } from "@reins/base/domain/Ids"
import { Effect, Schema } from "effect"
import type { JobFailure } from "../jobs/Job.js"
import { JobStore } from "../jobs/JobStore.js"
import { blockingReasons, DeliveryReason } from "./Delivery.js"
import { type DeliveryChange, DeliveryStore } from "./DeliveryStore.js"

/** Gives the function that ends an executing delivery as cancelled. It says so when an earlier attempt may have pushed. */
export const deliveryCancelled = Effect.gen(function* () {
  const jobs = yield* JobStore
  const store = yield* DeliveryStore
  return Effect.fnUntraced(function* (deliveryId: DeliveryId, actor: Actor) {
    const reasonMessage = (yield* jobs.isUnproven(deliveryId)) ? mayBePushed : undefined
    yield* store.move(deliveryId, { state: "cancelled", ...(reasonMessage && { reasonMessage }) }, actor)
  })
})

const mayBePushed =
  "An earlier attempt may have pushed the branch before it was cancelled: refresh the delivery, and look where the branch is."

/** The end of a delivery whose job failed: `blocked` when a person has to decide or mend something first, else `failed`. */
export const failedEnd = ({ code, message }: JobFailure): DeliveryChange => ({
  state: isBlocking(code) ? "blocked" : "failed",
  reasonMessage: message,
  ...(isReason(code) && { reason: code })
})

/** True for a failure that no other attempt mends unless a person acts. */
export const isBlocking = (code: string): boolean => Object.hasOwn(blockingReasons, code)

const isReason = Schema.is(DeliveryReason)
