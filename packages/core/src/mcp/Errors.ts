import type { OperationErrors } from "../domain/OperationErrors.js"

export const operationErrors = {
  "projects.checkServers": ["forbidden", "invalid_transition", "not_found"]
} as const satisfies OperationErrors
