import type { OperationErrors } from "../domain/OperationErrors.js"

export const operationErrors = {
  "sessions.listDelegations": ["invalid_cursor", "not_found"],
  "sessions.delegate": [
    "budget_unenforceable",
    "connection_required",
    "connection_revoked",
    "context_unavailable",
    "credential_invalid",
    "delegation_limit",
    "executor_unavailable",
    "forbidden",
    "invalid_transition",
    "model_required",
    "not_found",
    "payload_too_large",
    "provider_disabled",
    "quota_exhausted",
    "stale_subject",
    "unsupported_capability"
  ],
  "delegations.get": ["not_found"],
  "delegations.cancel": ["forbidden", "invalid_transition", "not_found"],
  "delegations.sendMessage": [
    "budget_unenforceable",
    "connection_required",
    "connection_revoked",
    "context_unavailable",
    "credential_invalid",
    "forbidden",
    "invalid_transition",
    "model_required",
    "not_found",
    "payload_too_large",
    "provider_disabled",
    "quota_exhausted",
    "unsupported_capability"
  ],
  "delegations.getResult": ["not_found", "result_not_ready"],
  "delegations.submitResult": ["forbidden", "invalid_transition", "not_found", "result_already_set"],
  "delegations.wait": ["forbidden", "not_found"]
} as const satisfies OperationErrors
