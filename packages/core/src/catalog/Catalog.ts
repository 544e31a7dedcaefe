import { field } from "@reins/base/domain/Field"
import { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import { ConnectionId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { CapabilityProof, CapabilityValue } from "@reins/machine/harness/Capability"
import { Schema } from "effect"

export const SupportTier = Schema.Literal("supported", "experimental", "disabled").annotations({
  description: "`supported` is tested with every release, `experimental` may change, `disabled` cannot be selected."
})
export type SupportTier = typeof SupportTier.Type

const System = Schema.Struct({
  os: field(Schema.Literal("linux", "darwin", "win32"), "The system, as Node names it: `darwin` is macOS."),
  cpu: field(Schema.Literal("x64", "arm64"), "The processor, as Node names it."),
  libc: field(
    Schema.NullOr(Schema.Literal("glibc", "musl")),
    "The C library that the agent needs; null when any will do, and where the system has one alone."
  )
})

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
    "What the provider can do, by the name of the capability. What is not `supported` is refused, and what is unproven is `unknown` here."
  ),
  tool_calls: field(
    CapabilityValue,
    "Whether its model calls the tools that a session gives it, in the same words. The specification lists no capability for it."
  ),
  proofs: field(
    Schema.Array(CapabilityProof),
    "Each capability as the manifest declares it, with the evidence for it. Evidence counts for the agent and the settings that it was made with."
  ),
  verified: field(
    Schema.NullOr(
      Schema.Struct({
        agent: field(Schema.String, "The name and the version of the agent that was tried."),
        platform: field(Schema.String, "The platform that it was tried on, as the manifest names it."),
        observed_at: field(Timestamp, "The time at which it was tried.")
      })
    ),
    "The trial that the evidence comes from; null when the agent was not tried with these settings."
  ),
  platforms: field(Schema.Array(System), "The systems that the agent is pinned for. None for a disabled provider."),
  installable: field(Schema.Boolean, "True when the answering server runs on one of them."),
  installed: field(
    Schema.Boolean,
    "True when the pinned packages are in the cache of this machine, or of one of several that is up. A disabled provider has none."
  ),
  installing: field(
    Schema.NullOr(
      Schema.Struct({
        package: field(Schema.String, "The package that is downloaded, as `name@version`."),
        packages_done: field(Schema.Int, "The packages that are complete."),
        packages_total: field(Schema.Int, "The packages of the agent."),
        downloaded_bytes: field(Schema.Int, "The bytes of the package that are here."),
        total_bytes: field(
          Schema.NullOr(Schema.Int),
          "The bytes that the package has; null when its registry does not tell."
        )
      })
    ),
    "How far the installation is that the answering server works on; null when it works on none."
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

export const AvailableHarness = Schema.Struct({
  provider_id: field(Schema.String, "The name of the provider, which enables it."),
  display_name: field(Schema.String, "The name of its agent for people."),
  version: field(Schema.NullOr(Schema.String), "The pinned version of its agent; null when it has none."),
  license: field(
    Schema.NullOr(Schema.String),
    "The licence of its agent, as the release knows it; null when it does not."
  ),
  license_asked: field(
    Schema.Boolean,
    "True when enabling it takes `accept_license`, because its licence is not an open one, or not for all of it."
  ),
  platforms: field(Schema.Array(System), "The systems that its agent is pinned for."),
  installable: field(Schema.Boolean, "True when the answering server runs on one of them.")
}).annotations({ identifier: "AvailableHarness", description: "A provider that can be enabled." })
export type AvailableHarness = typeof AvailableHarness.Type

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
