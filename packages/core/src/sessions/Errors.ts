import type { OperationErrors } from "@reins/base/domain/OperationErrors"

/** The reasons for which a message is refused, because it or a turn on it cannot be. Every operation that may post one has them. */
export const messageRefusals = [
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
] as const

export const operationErrors = {
  "workspaces.getUsage": ["invalid_cursor", "not_found"],
  "sessions.list": ["invalid_cursor", "not_found"],
  "sessions.create": [...messageRefusals, "executor_unavailable"],
  "sessions.get": ["not_found"],
  "sessions.getUsage": ["not_found"],
  "sessions.update": [
    "budget_unenforceable",
    "delivery_unresolved",
    "forbidden",
    "harness_switch_required",
    "invalid_transition",
    "not_found",
    "provider_disabled",
    "turn_active",
    "unsupported_capability",
    "version_conflict"
  ],
  "sessions.archive": ["forbidden", "invalid_transition", "not_found", "turn_active"],
  "sessions.unarchive": ["forbidden", "invalid_transition", "not_found"],
  "sessions.close": ["forbidden", "invalid_transition", "not_found"],
  "messages.list": ["invalid_cursor", "not_found"],
  "messages.send": [...messageRefusals],
  "turns.list": ["invalid_cursor", "not_found"],
  "turns.get": ["not_found"],
  "turns.cancel": ["forbidden", "invalid_transition", "not_found"],
  "turns.update": ["budget_unenforceable", "forbidden", "invalid_transition", "not_found"],
  "turns.retry": [
    "budget_unenforceable",
    "forbidden",
    "invalid_transition",
    "model_required",
    "not_found",
    "quota_exhausted"
  ],
  "turns.acknowledge": ["forbidden", "invalid_transition", "not_found"],
  "interactions.list": ["invalid_cursor", "not_found"],
  "interactions.answer": ["already_claimed", "forbidden", "invalid_transition", "not_found", "stale_subject"],
  "interactions.claim": ["already_claimed", "forbidden", "invalid_transition", "not_found"]
} as const satisfies OperationErrors
