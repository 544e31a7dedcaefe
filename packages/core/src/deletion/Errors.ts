import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "sessions.delete": ["delivery_unresolved", "forbidden", "invalid_transition", "not_found", "turn_active"],
  "sessions.getDeletion": ["not_found"],
  "projects.delete": ["forbidden", "insufficient_scope", "not_found", "turn_active"],
  "projects.getDeletion": ["not_found"],
  "accounts.delete": [
    "forbidden",
    "insufficient_scope",
    "invalid_credentials",
    "invalid_transition",
    "not_found",
    "rate_limited",
    "waiting_capacity"
  ],
  "workspaces.delete": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "workspaces.getDeletion": ["not_found"],
  "workspaces.getRetentionPreview": ["not_found"],
  "workspaces.listSessionDeletions": ["invalid_cursor", "not_found"]
} as const satisfies OperationErrors
