import { Webhooks } from "@reins/core/webhooks/Webhooks"
import { Effect } from "effect"
import type { Handlers } from "./Handlers.js"

export const webhooks = Effect.gen(function* () {
  const webhooks = yield* Webhooks
  const handlers: Handlers<"webhooks"> = {
    listEndpoints: ({ path, principal, query }) => webhooks.list(principal, path.workspace_id, query),
    createEndpoint: ({ body, path, principal }) => webhooks.create(principal, path.workspace_id, body),
    getEndpoint: ({ path, principal }) => webhooks.get(principal, path.webhook_endpoint_id),
    updateEndpoint: ({ body, path, principal }) => webhooks.update(principal, path.webhook_endpoint_id, body),
    removeEndpoint: ({ path, principal }) => webhooks.remove(principal, path.webhook_endpoint_id),
    rotateSecret: ({ body, path, principal }) => webhooks.rotate(principal, path.webhook_endpoint_id, body),
    sendTest: ({ path, principal }) => webhooks.test(principal, path.webhook_endpoint_id),
    retryDeliveries: ({ body, path, principal }) => webhooks.retryAll(principal, path.webhook_endpoint_id, body),
    listDeliveries: ({ path, principal, query }) => webhooks.deliveries(principal, path.webhook_endpoint_id, query),
    getDelivery: ({ path, principal }) => webhooks.delivery(principal, path.webhook_delivery_id),
    retryDelivery: ({ path, principal }) => webhooks.retry(principal, path.webhook_delivery_id)
  }
  return handlers
})
