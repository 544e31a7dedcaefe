import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Effect } from "effect"
import { couriers } from "./Couriers.js"
import { DeliveryQueue } from "./DeliveryQueue.js"
import * as operations from "./Operations.js"
import * as SealedSecrets from "./SealedSecrets.js"
import { WebhookStore } from "./WebhookStore.js"
import { Webhooks } from "./Webhooks.js"

/** Endpoints, and the couriers that send them the events of their workspaces. */
export const webhooks = {
  name: "webhooks",
  layer: oneByOne(Webhooks.layer, DeliveryQueue.layer).pipe(onTopOf(WebhookStore.layer)),
  operations,
  tables: ["webhook_endpoints", "webhook_deliveries"],
  followers: [couriers],
  sealed: SealedSecrets.webhookRecords,
  sweeps: { webhooks: Effect.map(WebhookStore, ({ purge }) => purge) }
} as const
