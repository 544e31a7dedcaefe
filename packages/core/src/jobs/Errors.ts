import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "jobs.get": ["not_found"],
  "jobs.getOperation": ["not_found"]
} as const satisfies OperationErrors
