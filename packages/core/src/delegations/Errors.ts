import type { OperationErrors } from "@reins/base/domain/OperationErrors"
import { messageRefusals } from "../sessions/Errors.js"

export const operationErrors = {
  "sessions.listDelegations": ["invalid_cursor", "not_found"],
  "sessions.delegate": [...messageRefusals, "delegation_limit", "executor_unavailable", "stale_subject"],
  "delegations.get": ["not_found"],
  "delegations.cancel": ["forbidden", "invalid_transition", "not_found"],
  "delegations.sendMessage": [...messageRefusals],
  "delegations.getResult": ["not_found", "result_not_ready"],
  "delegations.submitResult": ["forbidden", "invalid_transition", "not_found", "result_already_set"],
  "delegations.wait": ["forbidden", "not_found"]
} as const satisfies OperationErrors
