import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "changesets.listDeliveries": ["invalid_cursor", "not_found"],
  "changesets.deliver": ["connection_required", "forbidden", "invalid_transition", "not_found", "stale_subject"],
  "deliveries.get": ["not_found"],
  "deliveries.retry": ["forbidden", "invalid_transition", "not_found"],
  "deliveries.refresh": ["forbidden", "invalid_transition", "not_found"],
  "deliveries.cancel": ["forbidden", "invalid_transition", "not_found"],
  "signingKeys.list": ["forbidden", "insufficient_scope", "invalid_cursor", "not_found"],
  "signingKeys.create": ["forbidden", "insufficient_scope", "not_found", "quota_exhausted"],
  "signingKeys.remove": ["forbidden", "insufficient_scope", "not_found"]
} as const satisfies OperationErrors
