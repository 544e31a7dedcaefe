import { type Hearers, makeHearers } from "@reins/base/base/Hearers"
import { Context, type Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import type { Delivery } from "./Delivery.js"

/** A room that has to know of deliveries in the very commit that ends them. It may write, and must not fail. */
export interface DeliveryListener {
  /** A delivery has succeeded. */
  readonly delivered: (delivery: Delivery) => Effect.Effect<void, never, Commit>
  /** A delivery has failed, waits for a person, or was cancelled. */
  readonly undelivered: (delivery: Delivery) => Effect.Effect<void, never, Commit>
}

/** The rooms above that listen to deliveries. They register here, so that deliveries need not know them. */
export class DeliveryListeners extends Context.Tag("@reins/core/deliveries/DeliveryListeners")<
  DeliveryListeners,
  DeliveryListener & Pick<Hearers<Partial<DeliveryListener>>, "register">
>() {
  static readonly layer = Layer.sync(DeliveryListeners, () => {
    const { register, tell } = makeHearers<Partial<DeliveryListener>>()
    return DeliveryListeners.of({
      register,
      delivered: (delivery) => tell((listener) => listener.delivered?.(delivery)),
      undelivered: (delivery) => tell((listener) => listener.undelivered?.(delivery))
    })
  })
}
