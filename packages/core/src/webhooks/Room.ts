import { Effect } from "effect"
import { couriers } from "./Couriers.js"
import { WebhookStore } from "./WebhookStore.js"

/** Endpoints, and the couriers that send them the events of their workspaces. */
export const webhooks = {
  name: "webhooks",
  tables: ["webhook_endpoints", "webhook_deliveries"],
  followers: [couriers],
  sweeps: { webhooks: Effect.map(WebhookStore, ({ purge }) => purge) }
} as const
