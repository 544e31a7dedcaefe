import type { OperationErrors } from "../domain/OperationErrors.js"

export const operationErrors = {
  "sessions.delete": ["delivery_unresolved", "forbidden", "invalid_transition", "not_found", "turn_active"],
  "sessions.getDeletion": ["not_found"],
  "projects.delete": ["forbidden", "insufficient_scope", "not_found", "turn_active"],
  "projects.getDeletion": ["not_found"],
  "workspaces.listSessionDeletions": ["invalid_cursor", "not_found"]
} as const satisfies OperationErrors
