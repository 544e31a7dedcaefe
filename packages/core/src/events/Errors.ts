import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "workspaces.listEvents": ["history_reset_required", "invalid_cursor", "not_found", "rate_limited"],
  "sessions.listEvents": ["history_reset_required", "invalid_cursor", "not_found", "rate_limited"]
} as const satisfies OperationErrors
