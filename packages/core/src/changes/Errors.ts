import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "sessions.getChanges": ["executor_unavailable", "not_found"],
  "sessions.listChangesets": ["invalid_cursor", "not_found"],
  "sessions.capture": [
    "executor_unavailable",
    "forbidden",
    "invalid_transition",
    "not_found",
    "stale_subject",
    "turn_active"
  ],
  "changesets.get": ["not_found"],
  "changesets.getDiff": ["executor_unavailable", "invalid_transition", "not_found"],
  "changesets.listFiles": ["executor_unavailable", "invalid_transition", "not_found"],
  "changesets.apply": [
    "executor_unavailable",
    "forbidden",
    "invalid_transition",
    "not_found",
    "stale_subject",
    "turn_active"
  ],
  "applications.get": ["not_found"]
} as const satisfies OperationErrors
