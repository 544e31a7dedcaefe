import { Effect } from "effect"
import { WebhookStore } from "./WebhookStore.js"

/** Endpoints, and the couriers that send them the events of their workspaces. */
export const webhooks = {
  name: "webhooks",
  tables: ["webhook_endpoints", "webhook_deliveries"],
  sweeps: { webhooks: Effect.map(WebhookStore, ({ purge }) => purge) }
} as const
