import { basename } from "node:path"
import { fn } from "@reins/base/base/Traced"
import type { ConnectionId, WorkspaceId } from "@reins/base/domain/Ids"
import { oneOf } from "@reins/base/domain/Installed"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { CapabilityName } from "@reins/machine/harness/Capability"
import type { Evidence } from "@reins/machine/harness/Evidence"
import * as HostPlatform from "@reins/machine/harness/HostPlatform"
import { HarnessInstall } from "@reins/machine/harness/Install"
import { needsModel } from "@reins/machine/harness/Launch"
import type { Manifest } from "@reins/machine/harness/Manifest"
import { Manifests } from "@reins/machine/harness/Manifests"
import { allowsAll, type PermissionPolicy } from "@reins/machine/harness/Permissions"
import { Context, Effect, Layer, Option } from "effect"
import { type ChosenConnection, ConnectionStore, type Unopenable } from "../connections/ConnectionStore.js"
import { Nodes } from "../placement/Nodes.js"
import type { AvailableHarness, HarnessEntry } from "./Catalog.js"
import { EnabledProviders } from "./EnabledProviders.js"

/** The reasons why no turn could run with the provider. */
export type Unrunnable = ReinsError<
  "not_found" | "connection_revoked" | "connection_required" | "credential_invalid" | "provider_disabled"
>

/** The providers as callers see them, and the rules for choosing one with a connection. */
export class Providers extends Context.Tag("@reins/core/catalog/Providers")<
  Providers,
  {
    readonly list: Effect.Effect<ReadonlyArray<HarnessEntry>>
    /** The providers that are part of Reins and off here. */
    readonly available: Effect.Effect<ReadonlyArray<AvailableHarness>>
    /** The manifest of a provider, also of a disabled one; undefined for an id that no manifest declares. */
    readonly known: (providerId: string) => Effect.Effect<Manifest | undefined>
    /** The provider for a request that names none. */
    readonly defaultId: string
    /** A provider that may be chosen. Fails with `provider_disabled` for one that is disabled or that no manifest declares. */
    readonly requireEnabled: (providerId: string) => Effect.Effect<Manifest, ReinsError<"provider_disabled">>
    /** Fails with `unsupported_capability` unless the manifest says `supported` and it is proven. `unknown` is refused too. */
    readonly requireCapability: (
      providerId: string,
      capability: CapabilityName
    ) => Effect.Effect<void, ReinsError<"provider_disabled" | "unsupported_capability">>
    /** Fails unless the agent of the provider is known to call the tools that a server offers. */
    readonly requireTools: (
      providerId: string
    ) => Effect.Effect<void, ReinsError<"provider_disabled" | "unsupported_capability">>
    /**
     * `requireCapability` of `interactive_approval` for a policy under which something is asked for or refused. A provider whose agent never
     * asks would do it all the same.
     */
    readonly requirePermissions: (
      providerId: string,
      policy: PermissionPolicy | undefined
    ) => Effect.Effect<void, ReinsError<"provider_disabled" | "unsupported_capability">>
    /**
     * The connection for a session of the provider: the given one that it takes, else the newest in the workspace that it takes. Null when there
     * is none and none is required.
     */
    readonly chooseConnection: (
      workspaceId: WorkspaceId,
      manifest: Manifest,
      given: ReadonlyArray<ConnectionId>
    ) => Effect.Effect<ChosenConnection | null, Unopenable>
    /** The name of a provider for people; its id where no manifest declares it any more. */
    readonly nameOf: (providerId: string) => string
    /** True when no turn of the provider starts without a model, in a session with that connection. */
    readonly needsModel: (providerId: string, connectionId: ConnectionId | null) => boolean
    /** Fails with `provider_disabled`, `connection_required` or `connection_revoked`, as a turn of the provider would. */
    readonly requireRunnable: (
      workspaceId: WorkspaceId,
      providerId: string,
      connectionId: ConnectionId | null
    ) => Effect.Effect<void, Unrunnable>
  }
>() {
  static readonly layer = Layer.effect(
    Providers,
    Effect.gen(function* () {
      const manifests = yield* Manifests
      const install = yield* HarnessInstall
      const connections = yield* ConnectionStore
      const { refresh } = yield* EnabledProviders

      const { list: nodes } = yield* Nodes
      /** The providers whose agents nodes have that are up. One machine has no nodes. */
      const elsewhere = Effect.map(
        nodes,
        (all): ReadonlySet<string> =>
          new Set(all.flatMap(({ providers, state }) => (state === "active" || state === "draining" ? providers : [])))
      )
      const { find, requireCapability, requireEnabled, requireTools } = makeRequire(manifests, refresh)

      return Providers.of({
        list: Effect.flatMap(Effect.zipRight(refresh, elsewhere), (onNodes) =>
          Effect.forEach(manifests.list, (manifest) =>
            Effect.map(
              Effect.orDie(
                Effect.all([
                  install.find(manifest.provider_id),
                  manifests.originOf(manifest.provider_id),
                  manifests.provenOf(manifest.provider_id)
                ])
              ),
              ([installed, { digest, source }, { evidence, proofs }]): HarnessEntry => ({
                provider_id: manifest.provider_id,
                display_name: manifest.display_name,
                tier: manifest.tier,
                connection:
                  manifest.credential === null
                    ? null
                    : {
                        kind: manifest.credential.connection_kind,
                        required: manifest.credential.required,
                        ...(manifest.credential.protocols && { protocols: manifest.credential.protocols })
                      },
                ...capabilitiesOf(manifest),
                proofs,
                verified: trialOf(evidence),
                ...systemsOf(manifest),
                installed: installed._tag === "Some" || onNodes.has(manifest.provider_id),
                installing: Option.getOrNull(install.progress(manifest.provider_id)),
                version: manifest.runtime?.agent.version ?? null,
                source: basename(source),
                digest
              })
            )
          )
        ),
        available: Effect.map(Effect.zipRight(refresh, manifests.available), (all) => all.map(availableOf)),
        known: find,
        defaultId: manifests.defaultId,
        nameOf: (id) => manifests.list.find(({ provider_id }) => provider_id === id)?.display_name ?? id,
        requireEnabled,
        requireCapability,
        requireTools,
        requirePermissions: (providerId, policy) =>
          policy === undefined || allowsAll(policy)
            ? Effect.void
            : requireCapability(providerId, "interactive_approval"),
        chooseConnection: fn("Providers.chooseConnection")(function* (workspaceId, manifest, given) {
          if (manifest.credential === null) return null
          for (const id of given) {
            const connection = yield* connections.open(workspaceId, id)
            if (takes(manifest, connection)) return { id: connection.id, preferredModel: connection.preferredModel }
          }
          const { connection_kind: kind, protocols } = manifest.credential
          const newest = yield* connections.findByKind(workspaceId, kind, protocols)
          if (newest === undefined && manifest.credential.required) return yield* connectionRequired(manifest)
          return newest ?? null
        }),
        needsModel: (providerId, connectionId) => {
          const manifest = manifests.list.find(({ provider_id }) => provider_id === providerId)
          return manifest !== undefined && modelNeeds(manifest)[connectionId === null ? "alone" : "connected"]
        },
        requireRunnable: fn("Providers.requireRunnable")(function* (workspaceId, providerId, connectionId) {
          const manifest = yield* requireEnabled(providerId)
          if (connectionId !== null) yield* connections.open(workspaceId, connectionId)
          else if (manifest.credential?.required === true) return yield* connectionRequired(manifest)
        })
      })
    })
  )
}

/** True for a connection of the kind of the provider, with a protocol that its agent speaks. */
export const takes = (
  { credential }: Pick<Manifest, "credential">,
  { kind, settings }: { readonly kind: string; readonly settings: Readonly<Record<string, string>> }
): boolean =>
  credential !== null &&
  kind === credential.connection_kind &&
  (credential.protocols === undefined || credential.protocols.some((protocol) => protocol === settings["protocol"]))

/** The refusal when the workspace has no connection for a provider that requires one. */
export const connectionRequired = ({
  credential,
  provider_id
}: Pick<Manifest, "credential" | "provider_id">): ReinsError<"connection_required"> =>
  new ReinsError({
    code: "connection_required",
    message:
      `The provider ${provider_id} runs with a connection of the kind ${credential?.connection_kind}` +
      `${credential?.protocols === undefined ? "" : ` and the protocol ${oneOf(credential.protocols)}`}. ` +
      "Create one in the workspace first.",
    details: { provider_id, kind: credential?.connection_kind }
  })

const knownNeeds = new WeakMap<Manifest, { readonly alone: boolean; readonly connected: boolean }>()

/** Tells whether a provider needs a model, with a connection and without. It is found once, because each message asks. */
const modelNeeds = (manifest: Manifest) => {
  const needs = knownNeeds.get(manifest) ?? {
    alone: needsModel(manifest, false),
    connected: needsModel(manifest, true)
  }
  knownNeeds.set(manifest, needs)
  return needs
}

type Systems = Pick<HarnessEntry, "platforms" | "installable">

const knownSystems = new WeakMap<Manifest, Systems>()

const availableOf = (manifest: Manifest): AvailableHarness => ({
  provider_id: manifest.provider_id,
  display_name: manifest.display_name,
  version: manifest.runtime?.agent.version ?? null,
  license: manifest.runtime?.agent.license ?? null,
  license_asked: isAsked(manifest),
  ...systemsOf(manifest)
})

/** True where somebody has to accept the licence: it is not an open one, or not all of it is. */
const isAsked = ({ runtime }: Manifest): boolean => /proprietary/i.test(runtime?.agent.license ?? "")

/** The systems that the agent is pinned for, and whether this machine is one. */
const systemsOf = (manifest: Manifest): Systems => {
  const known = knownSystems.get(manifest) ?? findSystems(manifest)
  knownSystems.set(manifest, known)
  return known
}

const findSystems = ({ runtime }: Manifest): Systems => {
  const platforms = runtime?.install.platforms ?? []
  return { platforms: HostPlatform.systemsOf(platforms), installable: HostPlatform.select(platforms) !== undefined }
}

/** The capabilities of the specification, and beside them the one that it does not list. */
const capabilitiesOf = ({ capabilities: { tool_calls, ...capabilities } }: Manifest) => ({ capabilities, tool_calls })

/** The trial that evidence comes from; null without one, and for a word that is taken without one. */
const trialOf = (evidence: Evidence | null): HarnessEntry["verified"] =>
  evidence === null || evidence.observed_at === null
    ? null
    : { agent: evidence.agent, platform: evidence.platform, observed_at: evidence.observed_at }

const said = (providerId: string, value: string): string =>
  value === "unproven"
    ? `its manifest says supported, and nothing has shown it. Run: reins harnesses verify ${providerId}.`
    : `its manifest says ${value}.`

/** The checks of a provider that need its manifest alone. */
const makeRequire = (manifests: Manifests["Type"], refresh: Effect.Effect<void>) => {
  const listed = (providerId: string) => manifests.list.find(({ provider_id }) => provider_id === providerId)
  const find = Effect.fnUntraced(function* (providerId: string) {
    const manifest = listed(providerId)
    if (manifest !== undefined) return manifest
    // Another process may have enabled it.
    yield* refresh
    return listed(providerId)
  })
  const requireEnabled = fn("Providers.requireEnabled")(function* (providerId: string) {
    const manifest = yield* find(providerId)
    if (manifest === undefined || manifest.tier === "disabled") {
      return yield* new ReinsError({
        code: "provider_disabled",
        message:
          manifest === undefined
            ? `There is no provider "${providerId}". GET /api/harnesses lists those that can be chosen.`
            : `The provider ${providerId} is disabled. GET /api/harnesses lists those that can be chosen.`,
        details: { provider_id: providerId }
      })
    }
    return manifest
  })

  const requireCapability = fn("Providers.requireCapability")(function* (
    providerId: string,
    capability: CapabilityName
  ) {
    const manifest = yield* requireEnabled(providerId)
    if (manifest.capabilities[capability] === "supported") return
    const { proofs } = yield* Effect.orDie(manifests.provenOf(providerId))
    const value = proofs.find((each) => each.capability === capability)?.shown ?? "unknown"
    const able = manifests.list.filter(
      (each) => each.tier !== "disabled" && each.capabilities[capability] === "supported"
    )
    const names = able.map(({ provider_id }) => provider_id)
    return yield* new ReinsError({
      code: "unsupported_capability",
      message:
        `The provider ${providerId} does not support ${capability}: ${said(providerId, value)} ` +
        (names.length === 0 ? "No provider that is enabled here does." : `These do: ${names.join(", ")}.`),
      details: { provider_id: providerId, capability, value, supported_by: names }
    })
  })

  const requireTools = fn("Providers.requireTools")(function* (providerId: string) {
    const value = (yield* requireEnabled(providerId)).capabilities.tool_calls
    if (value === "supported") return
    const names = manifests.list.flatMap(({ capabilities, provider_id, tier }) =>
      tier !== "disabled" && capabilities.tool_calls === "supported" ? [provider_id] : []
    )
    return yield* new ReinsError({
      code: "unsupported_capability",
      message:
        `The agent of the provider ${providerId} is not known to call tools, so it cannot call functions. ` +
        (names.length === 0 ? "No provider that is enabled here can." : `These can: ${names.join(", ")}.`),
      details: { provider_id: providerId, capability: "tool_calls", value, supported_by: names }
    })
  })

  return { find, requireCapability, requireEnabled, requireTools }
}
