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
  /** The kind of connection that it runs with; null where there is none. */
  connection: Schema.NullOr(Schema.Struct({ kind: Schema.String, required: Schema.Boolean })),
  capabilities: Schema.Record({ key: Schema.String, value: CapabilityValue }),
  /** Whether the pinned packages are in this machine's cache. A disabled provider is bound to nothing and never is. */
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
  /** Tokens; null where the gateway does not say. */
  context_window: Schema.NullOr(Schema.Int)
}).annotations({ identifier: "Model" })
export type Model = typeof Model.Type

/** What stands between an agent and the rest of the machine, said plainly. */
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
