import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import { Webhooks } from "./Webhooks.js"
import type { WebhooksApi } from "./WebhooksApi.js"

export const webhooks = Effect.gen(function* () {
  const webhooks = yield* Webhooks
  const operations: Operations<typeof WebhooksApi, typeof operationErrors> = {
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
  return operations
})
