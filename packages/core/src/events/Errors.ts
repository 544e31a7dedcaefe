import type { OperationErrors } from "../domain/OperationErrors.js"

export const operationErrors = {
  "workspaces.listEvents": ["history_reset_required", "invalid_cursor", "not_found", "rate_limited"],
  "sessions.listEvents": ["history_reset_required", "invalid_cursor", "not_found", "rate_limited"]
} as const satisfies OperationErrors
