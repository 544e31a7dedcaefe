import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "webhooks.listEndpoints": ["forbidden", "insufficient_scope", "invalid_cursor", "not_found"],
  "webhooks.createEndpoint": ["forbidden", "insufficient_scope", "not_found", "quota_exhausted"],
  "webhooks.getEndpoint": ["forbidden", "insufficient_scope", "not_found"],
  "webhooks.updateEndpoint": ["forbidden", "insufficient_scope", "not_found"],
  "webhooks.removeEndpoint": ["forbidden", "insufficient_scope", "not_found"],
  "webhooks.rotateSecret": ["forbidden", "insufficient_scope", "not_found"],
  "webhooks.sendTest": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "webhooks.retryDeliveries": ["forbidden", "insufficient_scope", "not_found"],
  "webhooks.listDeliveries": ["forbidden", "insufficient_scope", "invalid_cursor", "not_found"],
  "webhooks.getDelivery": ["forbidden", "insufficient_scope", "not_found"],
  "webhooks.retryDelivery": ["forbidden", "insufficient_scope", "not_found"]
} as const satisfies OperationErrors
