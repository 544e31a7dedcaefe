import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "connectionLogins.create": [
    "connection_revoked",
    "forbidden",
    "insufficient_scope",
    "not_found",
    "rate_limited",
    "upstream_error",
    "upstream_timeout"
  ],
  "connectionLogins.get": ["not_found"],
  "connectionLogins.answer": ["forbidden", "insufficient_scope", "not_found"]
} as const satisfies OperationErrors
