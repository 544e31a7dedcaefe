import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "workspaces.listWork": ["invalid_cursor", "not_found"],
  "sessions.markSeen": ["forbidden", "not_found"],
  "sessions.markUnseen": ["forbidden", "not_found"]
} as const satisfies OperationErrors
