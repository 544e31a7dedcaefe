import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "care.get": ["not_found"],
  "care.start": ["forbidden", "invalid_transition", "not_found"],
  "care.remove": ["forbidden", "invalid_transition", "not_found"],
  "care.listAttentions": ["invalid_cursor", "not_found"],
  "care.deliverAttention": ["connection_required", "forbidden", "invalid_transition", "not_found", "stale_subject"]
} as const satisfies OperationErrors
