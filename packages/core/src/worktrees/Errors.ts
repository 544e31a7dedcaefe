import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "workspaces.getRepository": ["forbidden", "not_found"],
  "sessions.uploadFile": [
    "executor_unavailable",
    "forbidden",
    "invalid_transition",
    "not_found",
    "payload_too_large",
    "quota_exhausted",
    "version_conflict",
    "waiting_capacity"
  ],
  "sessions.listFiles": ["executor_unavailable", "invalid_transition", "not_found", "waiting_capacity"],
  "sessions.getFile": ["executor_unavailable", "invalid_transition", "not_found", "waiting_capacity"]
} as const satisfies OperationErrors
