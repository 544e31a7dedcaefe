import { argument, command, entry, group, someOf } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { chosenProvider, plainName } from "@reins/cli/client/Providers"
import { attempt } from "@reins/cli/client/Remote"
import { installProgress } from "@reins/cli/terminal/InstallProgress"
import { printJson, tell } from "@reins/cli/terminal/Output"
import { table } from "@reins/cli/terminal/Table"
import { EnabledProviders } from "@reins/core/catalog/EnabledProviders"
import { Providers } from "@reins/core/catalog/Providers"
import type { Commit } from "@reins/core/store/Commit"
import { Journal } from "@reins/core/store/Journal"
import type { CapabilityProof } from "@reins/machine/harness/Capability"
import { systemsInWords, systemsOf } from "@reins/machine/harness/HostPlatform"
import { HarnessInstall } from "@reins/machine/harness/Install"
import { Manifests, optionalProviders } from "@reins/machine/harness/Manifests"
import { Effect, Layer } from "effect"
import type { Config } from "../../Config.js"
import * as Installation from "../operator/Installation.js"
import { configOf, installationOptions } from "../operator/Settings.js"
import { forgetProviders } from "./EnabledProviders.js"
import { lock } from "./Lock.js"
import { storedEvidence } from "./StoredEvidence.js"
import { verify } from "./Verify.js"

const list = command({
  takes: installationOptions,
  examples: [
    ["reins harnesses list", "The agents, with their state and version"],
    ["reins harnesses list --data-dir /var/lib/reins", "Those of another installation"]
  ],
  run: (options) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const entries = yield* Effect.provide(
        Effect.flatMap(Providers, (providers) => providers.list),
        Installation.anyhow(config)
      )
      const known = new Set(entries.map(({ provider_id }) => provider_id))
      const evidence = yield* storedEvidence(config.dataDir)
      const off = yield* Effect.gen(function* () {
        const { list, provenOf } = yield* Manifests
        return yield* Effect.forEach(
          list.filter(({ provider_id: id }) => optionalProviders.some((each) => each === id) && !known.has(id)),
          (manifest) => Effect.map(provenOf(manifest.provider_id), ({ proofs }) => ({ ...manifest, proofs }))
        )
      }).pipe(Effect.provide(Manifests.layerIn({ enabled: optionalProviders, evidence })), Effect.orDie)
      const rows = entries.map((entry) => [
        entry.provider_id,
        entry.display_name,
        entry.tier,
        entry.tier === "disabled"
          ? "-"
          : entry.installed
            ? "installed"
            : entry.installable
              ? "not installed"
              : "not for here",
        entry.version ?? "-",
        provenShare(entry.proofs),
        entry.source,
        systemsInWords(entry.platforms) || "-"
      ])
      const offRows = off.map((each) => [
        each.provider_id,
        each.display_name,
        each.tier,
        "not enabled",
        each.runtime?.agent.version ?? "-",
        provenShare(each.proofs),
        "optional",
        systemsInWords(systemsOf(each.runtime?.install.platforms ?? [])) || "-"
      ])
      const heading = ["PROVIDER", "NAME", "TIER", "STATE", "VERSION", "PROVEN", "SOURCE", "RUNS ON"]
      yield* Effect.sync(() => process.stdout.write(table([heading, ...rows, ...offRows])))
    })
})

/** The part of what is declared that has evidence. */
const provenShare = (proofs: ReadonlyArray<CapabilityProof>): string => {
  const claimed = proofs.filter(({ declared }) => declared === "supported")
  return claimed.length === 0 ? "-" : `${claimed.filter(({ shown }) => shown === "supported").length}/${claimed.length}`
}

const optional = someOf("provider", optionalProviders, `Any of ${optionalProviders.join(", ")}`)

/** Changes the enabled providers of an installation in one commit. */
const change = (config: Config, what: (providers: EnabledProviders["Type"]) => Effect.Effect<void, never, Commit>) =>
  Effect.flatMap(Effect.all([EnabledProviders, Journal]), ([providers, { commit }]) => commit(what(providers))).pipe(
    Effect.provide(Installation.existing(config))
  )

const enable = command({
  takes: { provider: optional, ...installationOptions },
  examples: [
    ["reins harnesses enable claude", "Offer Claude Code"],
    ["reins harnesses enable claude gemini", "Offer two agents"]
  ],
  run: ({ provider, ...options }) =>
    Effect.gen(function* () {
      yield* change(yield* configOf(options), ({ enable }) => enable(provider))
      const install = `reins harnesses install ${provider.length === 1 ? provider[0] : "<provider>"}`
      yield* Effect.sync(() => tell(`Enabled, for a server that runs too. Install its agent: ${install}`))
    })
})

const disable = command({
  takes: { provider: optional, ...installationOptions },
  details: "Its sessions stay and take no more messages.",
  examples: [
    ["reins harnesses disable claude", "Offer Claude Code no more"],
    ["reins harnesses list", "See which agents are offered"]
  ],
  run: ({ provider, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      yield* change(config, ({ disable }) => disable(provider))
      yield* forgetProviders(config.dataDir, provider)
      yield* Effect.sync(() => tell("Disabled. A server that runs offers it until it is started anew."))
    })
})

const install = command({
  takes: { provider: argument("provider", "The agent, by its name or the id of its provider"), ...installationOptions },
  examples: [
    ["reins harnesses install alpha", "Install OpenCode"],
    ["reins harnesses install beta", "Install Codex"]
  ],
  run: ({ provider, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      yield* printJson(yield* installAgent(config, provider))
    })
})

/** Installs the agent that is named, and shows how far that is. Agents are kept for all installations of the user. */
export const installAgent = (config: Config, name: string) => {
  const { clear, show } = installProgress()
  const manifests = Installation.knownManifests(config)
  return Effect.gen(function* () {
    const provider = yield* providerOf(name)
    const harnesses = yield* HarnessInstall
    return yield* harnesses.install(provider, show)
  }).pipe(
    Effect.provide(
      Layer.provideMerge(HarnessInstall.layer(Installation.coreConfigOf(config).cacheDir, config.egress), manifests)
    ),
    Effect.catchTags({
      HarnessNotFound: ({ providerId }) => new CommandFailed({ message: notOffered(providerId) }),
      HarnessInstallError: ({ message }) => new CommandFailed({ message })
    }),
    Effect.ensuring(Effect.sync(clear))
  )
}

/** The id of a provider that is named by it or by its agent; the name itself for one that is disabled, or not enabled. */
const providerOf = (name: string) =>
  Effect.flatMap(Manifests, ({ list }) =>
    attempt(async () => {
      const listed = list.find(({ provider_id }) => provider_id === name)
      const isOff = listed === undefined ? optionalProviders.some((id) => id === name) : listed.tier === "disabled"
      const isNameOfAnother = list.some(
        ({ display_name, provider_id }) => provider_id !== name && plainName(display_name) === plainName(name)
      )
      return isOff && !isNameOfAnother ? name : chosenProvider(list, name).provider_id
    })
  )

const notOffered = (provider: string): string =>
  optionalProviders.some((id) => id === provider)
    ? `${provider} is not enabled. Run first: reins harnesses enable ${provider}`
    : `There is no provider "${provider}". See: reins harnesses list`

/** `reins harnesses` */
export const harnesses = group(
  entry("list", "List the agents, enabled and installed or not", list),
  entry("enable", "Offer an agent that is part of Reins and off by default", enable),
  entry("disable", "Offer an agent no more", disable),
  entry("install", "Install the pinned version of an agent", install),
  {
    name: "outdated",
    about: "See which agents have newer versions than the pinned ones",
    also: [],
    load: async () => (await import("./Outdated.js")).outdated
  },
  entry("verify", "Prove what an installed agent can do, offline", verify),
  entry("lock", "Pin the npm packages of an agent for its manifest", lock)
)
