import { Schema } from "effect"
import { ConnectionId, CredentialId, WorkspaceId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const ConnectionKind = Schema.Literal("alpha_gateway", "beta", "github", "gitlab", "gitea", "git")
export type ConnectionKind = typeof ConnectionKind.Type

export const ConnectionState = Schema.Literal("active", "disabled", "revoked")
export type ConnectionState = typeof ConnectionState.Type

export const connectionStates = StateMachine.make<ConnectionState>("connection", {
  active: ["disabled", "revoked"],
  disabled: ["active", "revoked"],
  revoked: []
})

export const ConnectionHealth = Schema.Literal("unverified", "verifying", "ready", "degraded", "reauth_required")
export type ConnectionHealth = typeof ConnectionHealth.Type

const BaseUrl = Schema.String.pipe(
  Schema.maxLength(2000),
  Schema.filter((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && new URL(url).username === "", {
    message: () => "Input should be an http or https URL without credentials in it"
  })
)
const Secret = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(20_000))
const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

/** The wire protocol that a gateway speaks. */
export const GatewayProtocol = Schema.Literal("openai_chat", "openai_responses", "anthropic_messages")
export type GatewayProtocol = typeof GatewayProtocol.Type

/**
 * The credential of each kind of connection as it is given. What stands under `settings` in the stored connection is readable;
 * everything else is sealed and never comes back.
 */
export const credentialInputs = {
  alpha_gateway: Schema.Struct({
    base_url: BaseUrl,
    api_key: Secret,
    protocol: Schema.optionalWith(GatewayProtocol, { default: () => "openai_chat" as const })
  }),
  beta: Schema.Struct({ base_url: optional(BaseUrl), api_key: optional(Secret), auth_json: optional(Secret) }),
  github: Schema.Struct({ base_url: optional(BaseUrl), token: Secret }),
  gitlab: Schema.Struct({ base_url: optional(BaseUrl), token: Secret }),
  gitea: Schema.Struct({ base_url: optional(BaseUrl), token: Secret }),
  git: Schema.Struct({ username: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)), password: Secret })
} as const satisfies Record<ConnectionKind, Schema.Schema.AnyNoContext>

/** The fields of a credential that are not secret and stay readable as `settings`. */
export const publicCredentialFields: ReadonlySet<string> = new Set(["base_url", "protocol", "username"])

export const Connection = Schema.Struct({
  id: ConnectionId,
  workspace_id: WorkspaceId,
  kind: ConnectionKind,
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
