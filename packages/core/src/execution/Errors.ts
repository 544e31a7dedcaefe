import type { OperationErrors } from "@reins/base/domain/OperationErrors"
import { messageRefusals } from "../sessions/Errors.js"

export const operationErrors = {
  "sessions.getExecutor": ["not_found"],
  "sessions.activateExecutor": ["executor_unavailable", "forbidden", "invalid_transition", "not_found"],
  "sessions.releaseExecutor": ["forbidden", "invalid_transition", "not_found", "turn_active"],
  "sessions.switchHarness": [...messageRefusals, "executor_unavailable"],
  "sessions.getNativeState": [
    "not_found",
    "payload_too_large",
    "provider_disabled",
    "turn_active",
    "unsupported_capability"
  ]
} as const satisfies OperationErrors
