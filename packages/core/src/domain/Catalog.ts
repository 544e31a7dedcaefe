import { Schema } from "effect"
import { GatewayProtocol } from "./Connection.js"
import { EnforcedLimits } from "./EnforcedLimits.js"
import { field } from "./Field.js"
import { ConnectionId } from "./Ids.js"

export const CapabilityValue = Schema.Literal("supported", "unsupported", "unknown").annotations({
  description: "`unknown` is never treated as `supported`."
})
export type CapabilityValue = typeof CapabilityValue.Type

export const SupportTier = Schema.Literal("supported", "experimental", "disabled").annotations({
  description: "`supported` is tested with every release, `experimental` may change, `disabled` cannot be selected."
})
export type SupportTier = typeof SupportTier.Type

export const HarnessEntry = Schema.Struct({
  provider_id: field(Schema.String, "The neutral name of the provider, which sessions and projects select it by."),
  display_name: field(Schema.String, "The name of the provider for people."),
  tier: field(SupportTier, "How far the provider can be relied on."),
  connection: field(
    Schema.NullOr(
      Schema.Struct({
        kind: field(
          Schema.String,
          "The kind of the connection, as `POST /api/workspaces/{workspace_id}/connections` takes it."
        ),
        required: field(Schema.Boolean, "True when the provider does not run without one."),
        protocols: field(
          Schema.optionalWith(Schema.Array(GatewayProtocol), { exact: true }),
          "The protocols that it takes of that kind; all when absent."
        )
      })
    ),
    "The kind of connection that it runs with; null when it needs none."
  ),
  capabilities: field(
    Schema.Record({ key: Schema.String, value: CapabilityValue }),
    "What the provider can do, by the name of the capability. What is not `supported` is refused."
  ),
  installed: field(
    Schema.Boolean,
    "True when the pinned packages are in the cache of this machine. A disabled provider has none."
  ),
  version: field(Schema.NullOr(Schema.String), "The pinned version of the agent; null for a disabled provider."),
  source: field(
    Schema.String,
    "The place of its manifest: `built-in`, `optional` for one that was enabled, `program`, or the name of a file."
  ),
  digest: field(
    Schema.String,
    "The `sha256:` digest of its manifest as canonical JSON: tells two manifests of one provider apart."
  )
}).annotations({ identifier: "Harness", description: "A provider as the catalog lists it." })
export type HarnessEntry = typeof HarnessEntry.Type

export const Model = Schema.Struct({
  id: field(Schema.String, "The name of the model, which sessions and projects select it by."),
  provider_id: field(Schema.String, "The provider that was asked about."),
  connection_id: field(ConnectionId, "The connection whose gateway has the model."),
  display_name: field(
    Schema.NullOr(Schema.String),
    "The name for people, as the gateway gives it; null when it gives none."
  ),
  context_window: field(
    Schema.NullOr(Schema.Int),
    "The size of its context in tokens; null when the gateway does not tell."
  )
}).annotations({
  identifier: "Model",
  description: "A model that a connection gives access to, as its gateway names it."
})
export type Model = typeof Model.Type

export const ExecutorBackend = Schema.Struct({
  backend: field(Schema.String, "The name by which sessions and projects select it."),
  available: field(Schema.Boolean, "True when sessions can run on it now."),
  default: field(Schema.Boolean, "True for the backend of sessions that select none."),
  isolation: field(
    Schema.Struct({
      security_boundary: field(
        Schema.Boolean,
        "True when an agent that means harm is kept in. Without it an agent can do what the user of the service can."
      ),
      filesystem: field(Schema.String, "The files that the agent reaches, in one word, as in `shared`."),
      network: field(
        Schema.String,
        "The network that the agent reaches: `restricted` where the executor enforces the `network` of a spec, `shared` where the agent can " +
          "reach what the server can."
      ),
      processes: field(Schema.String, "The processes that the agent sees or is part of, in one word.")
    }),
    "What separates the agent from the rest."
  ),
  engine: field(
    Schema.NullOr(
      Schema.Struct({
        name: field(Schema.String, "The program, as in `bubblewrap` or `podman`."),
        version: field(Schema.NullOr(Schema.String), "Its version; null when it does not tell."),
        image: field(
          Schema.NullOr(Schema.String),
          "The image that agents run in, by its digest; null where they run in none."
        )
      })
    ),
    "What separates agents; null where nothing does, and where the executor is not available."
  ),
  limits: field(EnforcedLimits, "What one agent may take of the machine, and what holds it to that."),
  note: field(Schema.String, "Sentences for people: what the isolation means.")
}).annotations({
  identifier: "ExecutorBackend",
  description: "An executor backend, and the boundaries that it puts between an agent and the rest of the machine."
})
export type ExecutorBackend = typeof ExecutorBackend.Type
