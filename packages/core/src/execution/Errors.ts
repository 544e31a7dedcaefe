import type { OperationErrors } from "../domain/OperationErrors.js"

export const operationErrors = {
  "sessions.getExecutor": ["not_found"],
  "sessions.activateExecutor": ["executor_unavailable", "forbidden", "invalid_transition", "not_found"],
  "sessions.releaseExecutor": ["forbidden", "invalid_transition", "not_found", "turn_active"],
  "sessions.switchHarness": [
    "budget_unenforceable",
    "connection_required",
    "connection_revoked",
    "context_unavailable",
    "credential_invalid",
    "executor_unavailable",
    "forbidden",
    "invalid_transition",
    "model_required",
    "not_found",
    "payload_too_large",
    "provider_disabled",
    "quota_exhausted",
    "unsupported_capability"
  ],
  "sessions.getNativeState": [
    "not_found",
    "payload_too_large",
    "provider_disabled",
    "turn_active",
    "unsupported_capability"
  ]
} as const satisfies OperationErrors
