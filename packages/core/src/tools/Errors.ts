import type { OperationErrors } from "../domain/OperationErrors.js"

export const operationErrors = {
  "toolCalls.list": ["invalid_cursor", "not_found"]
} as const satisfies OperationErrors
