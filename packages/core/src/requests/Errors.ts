import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "deliveries.listMergeRequests": ["invalid_cursor", "not_found"],
  "deliveries.openMergeRequest": [
    "connection_required",
    "delivery_unresolved",
    "forbidden",
    "invalid_transition",
    "not_found",
    "unsupported_capability"
  ],
  "changesets.submitVerdict": ["forbidden", "not_found", "stale_subject"],
  "changesets.listVerdicts": ["invalid_cursor", "not_found"],
  "mergeRequests.setConditions": ["forbidden", "invalid_transition", "not_found", "unsupported_capability"],
  "mergeRequests.removeConditions": ["forbidden", "invalid_transition", "not_found"],
  "mergeRequests.get": ["not_found"],
  "mergeRequests.list": ["invalid_cursor", "not_found"],
  "mergeRequests.listChecks": ["invalid_cursor", "not_found"],
  "mergeRequests.listReviews": ["invalid_cursor", "not_found"],
  "mergeRequests.listThreads": ["invalid_cursor", "not_found"],
  "mergeRequests.getLog": ["not_found", "result_not_ready"],
  "mergeRequests.rerun": ["forbidden", "invalid_transition", "not_found", "unsupported_capability"],
  "mergeRequests.setReadiness": [
    "connection_required",
    "forbidden",
    "invalid_transition",
    "not_found",
    "unsupported_capability"
  ],
  "mergeRequests.reply": ["connection_required", "forbidden", "invalid_transition", "not_found"],
  "mergeRequests.look": ["forbidden", "invalid_transition", "not_found"],
  "mergeRequests.merge": [
    "conditions_unmet",
    "forbidden",
    "invalid_transition",
    "not_found",
    "remote_head_changed",
    "unsupported_capability"
  ]
} as const satisfies OperationErrors
