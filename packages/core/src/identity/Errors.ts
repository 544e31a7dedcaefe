import type { OperationErrors } from "@reins/base/domain/OperationErrors"

export const operationErrors = {
  "accounts.register": ["rate_limited", "token_expired", "waiting_capacity"],
  "accounts.login": ["email_unverified", "invalid_credentials", "rate_limited", "waiting_capacity"],
  "accounts.logout": [],
  "accounts.verifyEmail": ["token_expired"],
  "accounts.changePassword": [
    "forbidden",
    "insufficient_scope",
    "invalid_credentials",
    "not_found",
    "rate_limited",
    "version_conflict",
    "waiting_capacity"
  ],
  "accounts.resetPassword": ["token_expired", "version_conflict", "waiting_capacity"],
  "accounts.getMe": ["not_found"],
  "accounts.updateMe": ["forbidden", "not_found"],
  "apiKeys.list": ["insufficient_scope", "invalid_cursor"],
  "apiKeys.create": ["forbidden", "insufficient_scope", "not_found"],
  "apiKeys.update": ["forbidden", "insufficient_scope", "not_found"],
  "apiKeys.revoke": ["insufficient_scope", "not_found"],
  "workspaces.list": ["invalid_cursor"],
  "workspaces.create": ["forbidden", "insufficient_scope", "rate_limited"],
  "workspaces.get": ["not_found"],
  "workspaces.update": ["forbidden", "insufficient_scope", "not_found"],
  "workspaces.listMembers": ["invalid_cursor", "not_found"],
  "workspaces.addMember": ["forbidden", "insufficient_scope", "invalid_transition", "not_found", "rate_limited"],
  "workspaces.removeMember": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"],
  "workspaces.leave": ["forbidden", "insufficient_scope", "invalid_transition", "not_found"]
} as const satisfies OperationErrors
