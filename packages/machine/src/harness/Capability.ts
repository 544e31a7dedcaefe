import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

export const CapabilityValue = Schema.Literal("supported", "unsupported", "unknown").annotations({
  description: "`unknown` is never treated as `supported`."
})
export type CapabilityValue = typeof CapabilityValue.Type

/** The names of all capabilities of providers, in the order of the specification, which lists all but the last. */
export const capabilityNames = [
  "event_stream",
  "model_discovery",
  "native_resume",
  "native_state_export",
  "usage",
  "interrupt",
  "steer",
  "interactive_approval",
  "credential_writeback",
  "tool_calls"
] as const

export const CapabilityName = Schema.Literal(...capabilityNames)
export type CapabilityName = typeof CapabilityName.Type

export const CapabilityProof = Schema.Struct({
  capability: field(CapabilityName, "The name of the capability."),
  declared: field(CapabilityValue, "The value in the manifest of the provider."),
  shown: field(
    Schema.Literal(...CapabilityValue.literals, "unproven"),
    "The value that its evidence leaves of it: `unproven` for what is declared `supported` and was never seen to work. It counts as `unknown`."
  ),
  evidence: field(
    Schema.NullOr(Schema.String),
    "The words of its trial, seen with this agent and these settings; null when it was not tried with them."
  )
}).annotations({
  identifier: "CapabilityProof",
  description: "A capability as its provider declares it, and the evidence for it."
})
export type CapabilityProof = typeof CapabilityProof.Type
