import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Deliveries } from "./Deliveries.js"
import { DeliveryListeners } from "./DeliveryListeners.js"
import { DeliveryStore } from "./DeliveryStore.js"
import { SigningKeys } from "./signing/SigningKeys.js"

/** The services of this room. */
export const layer = oneByOne(Deliveries.layer, SigningKeys.layer).pipe(
  onTopOf(DeliveryStore.layer),
  onTopOf(DeliveryListeners.layer)
)
