import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "catalog.listExecutorBackends": [],
  "catalog.listHarnesses": [],
  "catalog.installHarness": ["forbidden", "insufficient_scope", "not_found", "provider_disabled", "rate_limited"],
  "catalog.listModels": [
    "connection_revoked",
    "connection_required",
    "credential_invalid",
    "not_found",
    "provider_disabled",
    "unsupported_capability",
    "upstream_error",
    "upstream_timeout"
  ],
  "catalog.getLimits": [],
  "catalog.getVersion": []
} as const satisfies OperationErrors
