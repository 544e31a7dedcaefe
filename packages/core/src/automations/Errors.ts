import type { OperationErrors } from "../domain/OperationErrors.js"

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

export const operationErrors = {
  "automations.list": ["insufficient_scope", "invalid_cursor", "not_found"],
  "automations.create": ["forbidden", "insufficient_scope", "not_found", "quota_exhausted"],
  "automations.getPreview": ["insufficient_scope", "not_found"],
  "automations.previewFilter": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "automations.get": ["insufficient_scope", "not_found"],
  "automations.update": ["forbidden", "insufficient_scope", "not_found", "version_conflict"],
  "automations.delete": ["forbidden", "insufficient_scope", "not_found"],
  "automations.pause": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "automations.resume": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "automations.listRuns": ["insufficient_scope", "invalid_cursor", "not_found"],
  "automations.startRun": starting,
  "automations.getRun": ["insufficient_scope", "not_found"],
  "automations.cancelRun": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "automations.retryRun": starting
} as const satisfies OperationErrors
