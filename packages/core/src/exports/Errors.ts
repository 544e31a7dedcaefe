import type { OperationErrors } from "../domain/OperationErrors.js"

export const operationErrors = {
  "sessions.getExport": ["not_found"]
} as const satisfies OperationErrors
