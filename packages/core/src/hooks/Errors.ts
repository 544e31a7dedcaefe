import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "hooks.list": ["forbidden", "insufficient_scope", "invalid_cursor", "not_found"],
  "hooks.create": ["forbidden", "insufficient_scope", "not_found", "quota_exhausted"],
  "hooks.get": ["forbidden", "insufficient_scope", "not_found"],
  "hooks.update": ["forbidden", "insufficient_scope", "not_found"],
  "hooks.remove": ["forbidden", "insufficient_scope", "not_found"],
  "hooks.rotateSecret": ["forbidden", "insufficient_scope", "not_found"],
  "hooks.register": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "hooks.removeRegistration": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "hooks.listReceipts": ["forbidden", "insufficient_scope", "invalid_cursor", "not_found"],
  "hooks.replayReceipt": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"]
} as const satisfies OperationErrors
