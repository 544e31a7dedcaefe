import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "connections.list": ["invalid_cursor", "not_found"],
  "connections.create": ["forbidden", "not_found"],
  "connections.get": ["not_found"],
  "connections.update": ["connection_revoked", "forbidden", "invalid_transition", "not_found", "version_conflict"],
  "connections.disconnect": ["connection_in_use", "connection_revoked", "forbidden", "not_found"],
  "connections.replaceCredential": ["connection_revoked", "forbidden", "not_found", "version_conflict"],
  "connections.listCapabilities": ["not_found"],
  "connections.listValidations": ["invalid_cursor", "not_found"],
  "connections.validate": ["connection_required", "connection_revoked", "forbidden", "not_found"]
} as const satisfies OperationErrors
