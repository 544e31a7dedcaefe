import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import * as ConditionServices from "./conditions/Services.js"
import { VerdictStore } from "./conditions/VerdictStore.js"
import * as DeliveryRings from "./looks/DeliveryRings.js"
import * as HookRings from "./looks/HookRings.js"
import { MergeRequestLooks } from "./looks/MergeRequestLooks.js"
import { MergeRequests } from "./MergeRequests.js"
import { RequestActs } from "./RequestActs.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"
import { RequestListeners } from "./rows/RequestListeners.js"
import { WatchStore } from "./rows/WatchStore.js"

/** The services of this room. */
export const layer = oneByOne(
  ConditionServices.layer,
  DeliveryRings.layer,
  MergeRequests.layer,
  RequestActs.layer,
  HookRings.layer
).pipe(
  onTopOf(MergeRequestLooks.layer),
  onTopOf(oneByOne(MergeRequestStore.layer, VerdictStore.layer)),
  onTopOf(WatchStore.layer),
  onTopOf(RequestListeners.layer)
)
