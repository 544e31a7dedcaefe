import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "projects.checkServers": ["forbidden", "invalid_transition", "not_found"]
} as const satisfies OperationErrors
