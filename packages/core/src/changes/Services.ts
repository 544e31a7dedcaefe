import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { ApplicationStore } from "./ApplicationStore.js"
import { Applications } from "./Applications.js"
import { ChangesetStore } from "./ChangesetStore.js"
import { Changesets } from "./Changesets.js"
import { TurnApplications } from "./TurnApplications.js"

/** The services of this room. */
export const layer = oneByOne(Applications.layer, TurnApplications.layer).pipe(
  onTopOf(oneByOne(ApplicationStore.layer, Changesets.layer)),
  onTopOf(ChangesetStore.layer)
)
