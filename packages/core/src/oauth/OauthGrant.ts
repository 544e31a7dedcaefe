import { field } from "@reins/base/domain/Field"
import { ApiKeyId, OauthGrantId, WorkspaceId } from "@reins/base/domain/Ids"
import { Scope } from "@reins/base/domain/Scope"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

/** The scopes that an app can be given. `admin` is none of them: no app makes keys or members. */
export const AppScope = Schema.Literal("read", "act", "write")
export type AppScope = typeof AppScope.Type
export const appScopes = AppScope.literals

export const OauthGrant = Schema.Struct({
  id: field(OauthGrantId, "The id of the access."),
  client_name: field(Schema.String, "The name that the app gives itself."),
  client_host: field(
    Schema.NullOr(Schema.String),
    "The host that the app has proved to come from; null for one that has only told its name."
  ),
  workspace_id: field(WorkspaceId, "The only workspace that the app reaches."),
  key_id: field(ApiKeyId, "The id by which events name the app as their actor. It has no secret that anybody knows."),
  scopes: field(Schema.Array(Scope), "What the app may do."),
  unattended: field(
    Schema.Boolean,
    "True when the app may answer agents and deliver without asking the person each time."
  ),
  created_at: field(Timestamp, "The time at which the app got its first token."),
  last_used_at: field(Schema.NullOr(Timestamp), "The time of a recent request of the app; null before the first."),
  expires_at: field(Timestamp, "The time at which the access ends by itself.")
}).annotations({ identifier: "OauthGrant", description: "The access of an app to a workspace of the account." })
export type OauthGrant = typeof OauthGrant.Type
