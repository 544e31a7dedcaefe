import { Schema } from "effect"
import { ConnectionId, CredentialId, WorkspaceId } from "./Ids.js"
import { installed } from "./Installed.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const ConnectionState = Schema.Literal("active", "disabled", "revoked")
export type ConnectionState = typeof ConnectionState.Type

export const connectionStates = /* @__PURE__ */ StateMachine.make<ConnectionState>("connection", {
  active: ["disabled", "revoked"],
  disabled: ["active", "revoked"],
  revoked: []
})

export const ConnectionHealth = Schema.Literal("unverified", "verifying", "ready", "degraded", "reauth_required")
export type ConnectionHealth = typeof ConnectionHealth.Type

/** The wire protocol that a gateway speaks. */
export const GatewayProtocol = Schema.Literal("openai_chat", "openai_responses", "anthropic_messages")
export type GatewayProtocol = typeof GatewayProtocol.Type

export const Connection = Schema.Struct({
  id: ConnectionId,
  workspace_id: WorkspaceId,
  kind: installed("connection_kinds"),
  label: Schema.String,
  settings: Schema.Record({ key: Schema.String, value: Schema.String }),
  state: ConnectionState,
  health: ConnectionHealth,
  preferred_model: Schema.NullOr(Schema.String),
  credential: Schema.NullOr(
    Schema.Struct({
      id: CredentialId,
      ordinal: Schema.Int,
      /** The start of an HMAC of the secret under a key of this installation: tells two credentials apart, says nothing of either. */
      fingerprint: Schema.String,
      last4: Schema.NullOr(Schema.String),
      created_at: Timestamp
    })
  ),
  version: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp
}).annotations({ identifier: "Connection" })
export type Connection = typeof Connection.Type
