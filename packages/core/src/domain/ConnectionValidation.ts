import { Schema } from "effect"
import { CapabilityValue } from "./Catalog.js"
import { ConnectionId, CredentialId, ValidationId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** `inconclusive`: the check learned nothing about the credential. `superseded`: the credential was replaced or revoked before the end. */
export const ConnectionValidationState = Schema.Literal(
  "queued",
  "running",
  "passed",
  "failed",
  "inconclusive",
  "superseded"
)
export type ConnectionValidationState = typeof ConnectionValidationState.Type

export const connectionValidationStates = /* @__PURE__ */ StateMachine.make<ConnectionValidationState>("validation", {
  queued: ["running", "superseded"],
  running: ["passed", "failed", "inconclusive", "superseded"],
  passed: [],
  failed: [],
  inconclusive: [],
  superseded: []
})

/**
 * The reason why a validation did not pass. `credential_refused`, `address_refused`, `redirect`, `tls` and `credential_unreadable` last until
 * somebody changes something. The others may go away by themselves, or tell that there was nothing to check.
 */
export const ConnectionValidationReason = Schema.Literal(
  "credential_refused",
  "credential_unreadable",
  "address_refused",
  "redirect",
  "tls",
  "unreachable",
  "timeout",
  "rate_limited",
  "quota_exhausted",
  "upstream_error",
  "unexpected_answer",
  "model_required",
  "no_endpoint"
)
export type ConnectionValidationReason = typeof ConnectionValidationReason.Type

/** A fact about a connection. Its evidence is the request and the status of the answer. */
export const Observation = Schema.Struct({
  capability: Schema.String,
  value: CapabilityValue,
  evidence: Schema.String,
  observed_at: Timestamp
}).annotations({ identifier: "Observation" })
export type Observation = typeof Observation.Type

/** A check of one exact version of a credential. */
export const ConnectionValidation = Schema.Struct({
  id: ValidationId,
  connection_id: ConnectionId,
  credential: Schema.Struct({ id: CredentialId, ordinal: Schema.Int }),
  state: ConnectionValidationState,
  reason: Schema.NullOr(ConnectionValidationReason),
  /** A message for a person: what happened, and what to do next. */
  reason_message: Schema.NullOr(Schema.String),
  observations: Schema.Array(Observation),
  created_at: Timestamp,
  started_at: Schema.NullOr(Timestamp),
  finished_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "ConnectionValidation" })
export type ConnectionValidation = typeof ConnectionValidation.Type

/** A capability of a connection. It is `unknown`, without evidence, until it was observed with the current credential. */
export const ConnectionCapability = Schema.Struct({
  capability: Schema.String,
  value: CapabilityValue,
  evidence: Schema.NullOr(Schema.String),
  observed_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "ConnectionCapability" })
export type ConnectionCapability = typeof ConnectionCapability.Type

export const ConnectionCapabilities = Schema.Struct({
  connection_id: ConnectionId,
  /** The provider that runs with such a connection; null for forges. */
  provider_id: Schema.NullOr(Schema.String),
  items: Schema.Array(ConnectionCapability)
}).annotations({ identifier: "ConnectionCapabilities" })
export type ConnectionCapabilities = typeof ConnectionCapabilities.Type
