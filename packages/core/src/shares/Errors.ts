import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "sessions.listShares": ["invalid_cursor", "not_found"],
  "sessions.share": ["forbidden", "not_found"],
  "shares.get": ["not_found"],
  "shares.revoke": ["forbidden", "not_found"],
  "shared.getSession": ["not_found", "rate_limited"],
  "shared.listMessages": ["invalid_cursor", "not_found", "rate_limited"],
  "shared.listChangesets": ["invalid_cursor", "not_found", "rate_limited"],
  "shared.getDiff": ["executor_unavailable", "invalid_transition", "not_found", "rate_limited"],
  "shared.getWatermark": ["not_found", "rate_limited"]
} as const satisfies OperationErrors
