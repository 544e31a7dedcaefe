import type { OperationErrors } from "@reins/base/domain/OperationErrors"

const starting = [
  "budget_unenforceable",
  "connection_required",
  "connection_revoked",
  "context_unavailable",
  "credential_invalid",
  "executor_unavailable",
  "forbidden",
  "insufficient_scope",
  "invalid_transition",
  "model_required",
  "not_found",
  "payload_too_large",
  "provider_disabled",
  "quota_exhausted",
  "unsupported_capability"
] as const

const unrunnable = [
  "connection_required",
  "connection_revoked",
  "context_unavailable",
  "credential_invalid",
  "forbidden",
  "insufficient_scope",
  "invalid_transition",
  "model_required",
  "not_found",
  "payload_too_large",
  "provider_disabled",
  "unsupported_capability"
] as const

export const operationErrors = {
  "automations.list": ["insufficient_scope", "invalid_cursor", "not_found"],
  "automations.create": [...unrunnable, "quota_exhausted"],
  "automations.getPreview": ["insufficient_scope", "not_found"],
  "automations.previewFilter": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "automations.get": ["insufficient_scope", "not_found"],
  "automations.update": [...unrunnable, "version_conflict"],
  "automations.delete": ["forbidden", "insufficient_scope", "not_found"],
  "automations.pause": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "automations.resume": unrunnable,
  "automations.listRuns": ["insufficient_scope", "invalid_cursor", "not_found"],
  "automations.startRun": starting,
  "automations.getRun": ["insufficient_scope", "not_found"],
  "automations.cancelRun": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "automations.retryRun": starting
} as const satisfies OperationErrors
