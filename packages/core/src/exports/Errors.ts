import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "sessions.getExport": ["not_found"]
} as const satisfies OperationErrors
