import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { ApplicationStore } from "./ApplicationStore.js"
import { Applications } from "./Applications.js"
import { ChangesetStore } from "./ChangesetStore.js"
import { Changesets } from "./Changesets.js"
import * as ConditionServices from "./conditions/Services.js"
import { VerdictStore } from "./conditions/VerdictStore.js"
import { Deliveries } from "./Deliveries.js"
import { DeliveryListeners } from "./DeliveryListeners.js"
import { DeliveryStore } from "./DeliveryStore.js"
import * as DeliveryRings from "./looks/DeliveryRings.js"
import * as HookRings from "./looks/HookRings.js"
import { MergeRequestLooks } from "./looks/MergeRequestLooks.js"
import { RequestListeners } from "./looks/RequestListeners.js"
import { WatchStore } from "./looks/WatchStore.js"
import { MergeRequestStore } from "./MergeRequestStore.js"
import { MergeRequests } from "./MergeRequests.js"
import { RequestActs } from "./RequestActs.js"
import { SigningKeys } from "./SigningKeys.js"
import { TurnApplications } from "./TurnApplications.js"

/** The services of this room. */
export const layer = oneByOne(
  Applications.layer,
  ConditionServices.layer,
  DeliveryRings.layer,
  MergeRequests.layer,
  RequestActs.layer,
  HookRings.layer,
  SigningKeys.layer,
  TurnApplications.layer
).pipe(
  onTopOf(MergeRequestLooks.layer),
  onTopOf(Deliveries.layer),
  onTopOf(oneByOne(ApplicationStore.layer, DeliveryStore.layer, MergeRequestStore.layer, VerdictStore.layer)),
  onTopOf(WatchStore.layer),
  onTopOf(oneByOne(Changesets.layer, DeliveryListeners.layer, RequestListeners.layer)),
  onTopOf(ChangesetStore.layer)
)
