import { onTopOf } from "@reins/base/base/Layered"
import { notifier } from "./Notifier.js"
import * as operations from "./Operations.js"
import { PushStore } from "./PushStore.js"
import { PushSubscriptions } from "./PushSubscriptions.js"
import { pushRecords } from "./SealedBrowsers.js"

/** Browsers that are told when a session asks or ends. */
export const push = {
  name: "push",
  layer: PushSubscriptions.layer.pipe(onTopOf(PushStore.layer)),
  operations,
  tables: ["push_subscriptions"],
  followers: [notifier],
  sealed: pushRecords
} as const
