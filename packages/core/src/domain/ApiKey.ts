import { Schema } from "effect"
import { ApiKeyId, WorkspaceId } from "./Ids.js"
import { Timestamp } from "./Timestamp.js"

/** `write` includes `read`; `admin` includes both and adds keys, connection secrets and members. */
export const Scope = Schema.Literal("read", "write", "admin")
export type Scope = typeof Scope.Type

export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String,
  prefix: Schema.String,
  last4: Schema.String,
  scopes: Schema.Array(Scope),
  /** The only workspace that the key is good for; null is every workspace of the account. */
  workspace_id: Schema.NullOr(WorkspaceId),
  expires_at: Schema.NullOr(Timestamp),
  last_used_at: Schema.NullOr(Timestamp),
  revoked_at: Schema.NullOr(Timestamp),
  created_at: Timestamp
}).annotations({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

/** A new key with its secret, which is shown only once. */
export const IssuedApiKey = Schema.Struct({ ...ApiKey.fields, secret: Schema.String }).annotations({
  identifier: "IssuedApiKey"
})
export type IssuedApiKey = typeof IssuedApiKey.Type
