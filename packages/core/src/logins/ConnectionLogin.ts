import { field } from "@reins/base/domain/Field"
import { ConnectionId, ConnectionLoginId, WorkspaceId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

export const ConnectionLoginState = Schema.Literal(
  "pending",
  "exchanging",
  "completed",
  "failed",
  "expired"
).annotations({
  description:
    "`pending` waits for the browser, `exchanging` for the tokens. `completed` has a connection. A login that has `failed` or `expired` is begun anew."
})

export const LoginReach = Schema.Literal("workspace", "person")
export type LoginReach = typeof LoginReach.Type

export const ClientIdentity = Schema.Literal("document", "registration", "given").annotations({
  description:
    "How the installation names itself to the authorization server: by its client ID document, by a registration, or by an id that somebody has registered."
})
export type ClientIdentity = typeof ClientIdentity.Type

export const ConnectionLogin = Schema.Struct({
  id: field(ConnectionLoginId, "The id of the login."),
  workspace_id: field(WorkspaceId, "The workspace that gets the connection."),
  state: field(ConnectionLoginState, "Tells how far it is."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence that says why it has failed and what to do; null unless it has."
  ),
  for: field(LoginReach, "Those whose turns use it: everybody of the workspace, or the person who logs in alone."),
  server_url: field(Schema.String, "The server that the person logs in to. Tokens go there alone."),
  authorization_server: field(Schema.String, "The name of the server that the person proves itself to."),
  client: field(ClientIdentity, "The identity that the authorization server was shown."),
  scopes: field(Schema.NullOr(Schema.String), "The scopes that are asked for; null for those of its choice."),
  connection_id: field(
    Schema.NullOr(ConnectionId),
    "The connection that was made, or that gets the new credential; null until there is one."
  ),
  created_at: field(Timestamp, "The time at which it was begun."),
  expires_at: field(Timestamp, "The time at which it ends without a browser: ten minutes later.")
}).annotations({
  identifier: "ConnectionLogin",
  description: "A person lets the installation in at a server of tools, in a browser. Its end is a connection."
})
export type ConnectionLogin = typeof ConnectionLogin.Type
