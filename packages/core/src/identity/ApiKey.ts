import { field } from "@reins/base/domain/Field"
import { ApiKeyId, WorkspaceId } from "@reins/base/domain/Ids"
import { Scope } from "@reins/base/domain/Scope"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { Budget } from "../budgets/Budget.js"

export const ApiKey = Schema.Struct({
  id: field(ApiKeyId, "The id of the key, which is not its secret."),
  name: field(Schema.String, "The name that its owner gave it."),
  prefix: field(Schema.String, "The first characters of the secret, to recognise it by."),
  last4: field(Schema.String, "The last 4 characters of the secret."),
  scopes: field(Schema.Array(Scope), "What the key may do."),
  workspace_id: field(
    Schema.NullOr(WorkspaceId),
    "The only workspace that the key is good for; null is every workspace of the account."
  ),
  budget: field(
    Schema.NullOr(Budget),
    "What the model calls of turns may spend that are made with the key; null for no limit."
  ),
  expires_at: field(
    Schema.NullOr(Timestamp),
    "The time from which the key is refused; null for a key that does not expire."
  ),
  last_used_at: field(Schema.NullOr(Timestamp), "The time of a recent request with the key; null before the first."),
  revoked_at: field(Schema.NullOr(Timestamp), "The time at which the key was revoked; null while it is good."),
  created_at: field(Timestamp, "The time at which the key was made.")
}).annotations({
  identifier: "ApiKey",
  description: "A key that a program calls with, as `Authorization: Bearer rk_...`. Its secret is not part of it."
})
export type ApiKey = typeof ApiKey.Type

export const IssuedApiKey = Schema.Struct({
  ...ApiKey.fields,
  secret: field(Schema.String, "The whole key, as it goes after `Bearer`. It is never shown again.")
}).annotations({
  identifier: "IssuedApiKey",
  description: "A new key with its secret, which is shown only once."
})
export type IssuedApiKey = typeof IssuedApiKey.Type
