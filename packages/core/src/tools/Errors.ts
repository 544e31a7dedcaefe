import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "toolCalls.list": ["invalid_cursor", "not_found"]
} as const satisfies OperationErrors
