import { field } from "@reins/base/domain/Field"
import { ConnectionId, CredentialId, ValidationId } from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { CapabilityValue } from "@reins/machine/harness/Capability"
import { Schema } from "effect"

export const ConnectionValidationState = Schema.Literal(
  "queued",
  "running",
  "passed",
  "failed",
  "inconclusive",
  "superseded"
).annotations({
  description:
    "`inconclusive`: the check learned nothing about the credential. `superseded`: the credential was replaced or revoked before the end."
})
export type ConnectionValidationState = typeof ConnectionValidationState.Type

export const connectionValidationStates = /* @__PURE__ */ StateMachine.make<ConnectionValidationState>("validation", {
  queued: ["running", "superseded"],
  running: ["passed", "failed", "inconclusive", "superseded"],
  passed: [],
  failed: [],
  inconclusive: [],
  superseded: []
})

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
).annotations({
  description:
    "`credential_refused`, `address_refused`, `redirect`, `tls` and `credential_unreadable` last until somebody changes something. The others may go away by themselves, or tell that there was nothing to check."
})
export type ConnectionValidationReason = typeof ConnectionValidationReason.Type

export const Observation = Schema.Struct({
  capability: field(Schema.String, "The name of the capability, as in `authentication`."),
  value: field(CapabilityValue, "What was found."),
  evidence: field(Schema.String, "The request that was made and the status of its answer."),
  observed_at: field(Timestamp, "The time of the answer.")
}).annotations({
  identifier: "Observation",
  description: "A fact about a connection. Its evidence is the request and the status of the answer."
})
export type Observation = typeof Observation.Type

export const ConnectionValidation = Schema.Struct({
  id: field(ValidationId, "The id of the validation."),
  connection_id: field(ConnectionId, "The connection that is checked."),
  credential: field(
    Schema.Struct({
      id: field(CredentialId, "The id of the version."),
      ordinal: field(Schema.Int, "The number of the version, counted from 1.")
    }),
    "The version of the credential that is checked."
  ),
  state: field(ConnectionValidationState, "Where the validation stands."),
  reason: field(Schema.NullOr(ConnectionValidationReason), "Why it did not pass; null when it passed or goes on."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  observations: field(Schema.Array(Observation), "What the check has found, in the order in which it was found."),
  created_at: field(Timestamp, "The time at which the validation was asked for."),
  started_at: field(Schema.NullOr(Timestamp), "The time at which it began; null while it waits."),
  finished_at: field(Schema.NullOr(Timestamp), "The time of its end; null while it goes on.")
}).annotations({ identifier: "ConnectionValidation", description: "A check of one exact version of a credential." })
export type ConnectionValidation = typeof ConnectionValidation.Type

export const ConnectionCapability = Schema.Struct({
  capability: field(Schema.String, "The name of the capability."),
  value: field(CapabilityValue, "What was found with the current credential."),
  evidence: field(
    Schema.NullOr(Schema.String),
    "The request that was made and the status of its answer; null until it was observed."
  ),
  observed_at: field(Schema.NullOr(Timestamp), "The time of the answer; null until it was observed.")
}).annotations({
  identifier: "ConnectionCapability",
  description:
    "A capability of a connection. It is `unknown`, without evidence, until it was observed with the current credential."
})
export type ConnectionCapability = typeof ConnectionCapability.Type

export const ConnectionCapabilities = Schema.Struct({
  connection_id: field(ConnectionId, "The connection that was looked at."),
  provider_id: field(Schema.NullOr(Schema.String), "The provider that runs with such a connection; null for forges."),
  items: field(Schema.Array(ConnectionCapability), "Each capability with what was observed of it.")
}).annotations({
  identifier: "ConnectionCapabilities",
  description: "The capabilities that a connection of its kind can have."
})
export type ConnectionCapabilities = typeof ConnectionCapabilities.Type
