import type { OperationErrors } from "../domain/OperationErrors.js"

export const operationErrors = {
  "jobs.get": ["not_found"],
  "jobs.getOperation": ["not_found"]
} as const satisfies OperationErrors
