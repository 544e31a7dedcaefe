import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "push.getKey": [],
  "push.listSubscriptions": ["invalid_cursor", "not_found"],
  "push.createSubscription": ["forbidden", "invalid_transition", "not_found", "quota_exhausted"],
  "push.removeSubscription": ["not_found"]
} as const satisfies OperationErrors
