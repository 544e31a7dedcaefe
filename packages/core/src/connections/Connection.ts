import { field } from "@reins/base/domain/Field"
import { ConnectionId, CredentialId, WorkspaceId } from "@reins/base/domain/Ids"
import { installed } from "@reins/base/domain/Installed"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { Prices } from "./Prices.js"

export const ConnectionState = Schema.Literal("active", "disabled", "revoked").annotations({
  description: "A `disabled` connection is not used until it is `active` again; a `revoked` one never again."
})
export type ConnectionState = typeof ConnectionState.Type

export const connectionStates = /* @__PURE__ */ StateMachine.make<ConnectionState>("connection", {
  active: ["disabled", "revoked"],
  disabled: ["active", "revoked"],
  revoked: []
})

export const ConnectionHealth = Schema.Literal(
  "unverified",
  "verifying",
  "ready",
  "degraded",
  "reauth_required"
).annotations({
  description:
    "What the last use of the credential told: `reauth_required` means that it was refused, `degraded` that something else was wrong."
})
export type ConnectionHealth = typeof ConnectionHealth.Type

export const Connection = Schema.Struct({
  id: field(ConnectionId, "The id of the connection."),
  workspace_id: field(WorkspaceId, "The workspace that owns it."),
  kind: field(installed("connection_kinds"), "What it connects to."),
  label: field(Schema.String, "The name that people gave it."),
  settings: field(
    Schema.Record({ key: Schema.String, value: Schema.String }),
    "The fields of the credential that are no secret, as texts by their names."
  ),
  state: field(ConnectionState, "Tells if it may be used."),
  health: field(ConnectionHealth, "Tells if its credential was found good."),
  preferred_model: field(
    Schema.NullOr(Schema.String),
    "The model of sessions that select none; null for no preference."
  ),
  prices: field(
    Schema.NullOr(Prices),
    "What its models cost. Turns that begin from then on have a cost by it; null for unknown prices, and costs are null then."
  ),
  credential: field(
    Schema.NullOr(
      Schema.Struct({
        id: field(CredentialId, "The id of the version."),
        ordinal: field(Schema.Int, "The number of the version, counted from 1."),
        fingerprint: field(
          Schema.String,
          "The start of an HMAC of the secret under a key of this installation: tells two credentials apart, says nothing of either."
        ),
        last4: field(
          Schema.NullOr(Schema.String),
          "The last 4 characters of the secret; null when it is too short to show them."
        ),
        created_at: field(Timestamp, "The time at which the version was stored.")
      })
    ),
    "The current version of the credential, without its secret; null once the connection is revoked."
  ),
  version: field(Schema.Int, "Grows by one with each change, for `expected_version` and `If-Match`."),
  created_at: field(Timestamp, "The time at which the connection was made."),
  updated_at: field(Timestamp, "The time of its last change.")
}).annotations({
  identifier: "Connection",
  description: "A credential for a gateway of models, a forge or git. Its secrets never come back."
})
export type Connection = typeof Connection.Type
