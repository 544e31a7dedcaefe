import { Effect } from "effect"
import type { Actor } from "../domain/Event.js"
import type { DeliveryId } from "../domain/Ids.js"
import { JobStore } from "../jobs/JobStore.js"
import { DeliveryStore } from "./DeliveryStore.js"

/** Ends a delivery that is executing as cancelled, and says so when an attempt before may have pushed. */
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
