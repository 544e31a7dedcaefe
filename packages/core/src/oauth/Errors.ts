import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "oauthGrants.list": ["insufficient_scope", "invalid_cursor"],
  "oauthGrants.revoke": ["insufficient_scope", "not_found"]
} as const satisfies OperationErrors
