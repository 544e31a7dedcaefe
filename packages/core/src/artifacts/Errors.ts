import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "sessions.listArtifacts": ["invalid_cursor", "not_found"],
  "artifacts.get": ["not_found"],
  "artifacts.getContent": ["not_found"],
  "artifacts.delete": ["forbidden", "not_found"]
} as const satisfies OperationErrors
