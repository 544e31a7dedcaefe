import { Schema } from "effect"
import { ConnectionId } from "./Ids.js"

/** `unknown` is never treated as `supported`. */
export const CapabilityValue = Schema.Literal("supported", "unsupported", "unknown")
export type CapabilityValue = typeof CapabilityValue.Type

export const SupportTier = Schema.Literal("supported", "experimental", "disabled")
export type SupportTier = typeof SupportTier.Type

/** A provider as the catalog lists it. */
export const HarnessEntry = Schema.Struct({
  provider_id: Schema.String,
  display_name: Schema.String,
  tier: SupportTier,
  /** The kind of connection that it runs with; null when it needs none. */
  connection: Schema.NullOr(Schema.Struct({ kind: Schema.String, required: Schema.Boolean })),
  capabilities: Schema.Record({ key: Schema.String, value: CapabilityValue }),
  /** True when the pinned packages are in the cache of this machine. A disabled provider has none. */
  installed: Schema.Boolean,
  version: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Harness" })
export type HarnessEntry = typeof HarnessEntry.Type

/** A model that a connection gives access to, as its gateway names it. */
export const Model = Schema.Struct({
  id: Schema.String,
  provider_id: Schema.String,
  connection_id: ConnectionId,
  display_name: Schema.NullOr(Schema.String),
  /** In tokens; null when the gateway does not tell. */
  context_window: Schema.NullOr(Schema.Int)
}).annotations({ identifier: "Model" })
export type Model = typeof Model.Type

/** An executor backend, and the boundaries that it puts between an agent and the rest of the machine. */
export const ExecutorBackend = Schema.Struct({
  backend: Schema.String,
  available: Schema.Boolean,
  default: Schema.Boolean,
  isolation: Schema.Struct({
    security_boundary: Schema.Boolean,
    filesystem: Schema.String,
    network: Schema.String,
    processes: Schema.String
  }),
  note: Schema.String
}).annotations({ identifier: "ExecutorBackend" })
export type ExecutorBackend = typeof ExecutorBackend.Type
