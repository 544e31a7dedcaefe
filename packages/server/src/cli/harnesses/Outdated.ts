import { command, flag } from "@reins/cli/Command"
import { printJsonNow, tell } from "@reins/cli/terminal/Output"
import { harmless } from "@reins/cli/terminal/Style"
import { table } from "@reins/cli/terminal/Table"
import { npmRegistry } from "@reins/machine/harness/Install"
import { Manifests, optionalProviders } from "@reins/machine/harness/Manifests"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect } from "effect"
import { configOf, installationOptions } from "../operator/Settings.js"
import { compareVersions, followedPackages, newestVersion } from "./NewestVersions.js"

/** A package of an agent, as this release pins it and as its registry has it. */
interface Followed {
  readonly provider_id: string
  readonly package: string
  readonly pinned: string
  /** Null where the registry did not say. */
  readonly newest: string | null
  readonly state: "newest" | "outdated" | "unknown"
  /** Says why it is unknown; null where it is known. */
  readonly reason: string | null
}

/** `reins harnesses outdated` */
export const outdated = command({
  takes: { json: flag("json", "JSON in the place of text, a line for each package"), ...installationOptions },
  details:
    "Asks the registry of npm, or that of REINS_NPM_REGISTRY, and installs nothing. Each release of Reins pins the versions\n" +
    "that it was tried with. A manifest of yours may pin another one: reins harnesses lock.",
  examples: [
    ["reins harnesses outdated", "See which agents have a newer version"],
    ["reins harnesses outdated --json | jq -r 'select(.state == \"outdated\") | .package'", "Their packages alone"]
  ],
  run: ({ json, ...options }) =>
    Effect.gen(function* () {
      const { egress, manifestsDir: directory } = yield* configOf(options)
      const registry = yield* npmRegistry
      const { list } = yield* Effect.provide(Manifests, Manifests.layerIn({ directory, enabled: optionalProviders }))
      const wanted = list.flatMap((manifest) =>
        followedPackages(manifest).map((each) => ({ ...each, provider_id: manifest.provider_id }))
      )
      // The registry is at any address, because the operator names it.
      const outbound = yield* Effect.provide(Outbound, Outbound.layerWith({ allowPrivateHosts: ["*"], egress }))
      const found = yield* Effect.forEach(
        wanted,
        ({ name, provider_id, version }) =>
          Effect.map(Effect.either(newestVersion(outbound, registry, name)), (newest): Followed => {
            const pinned = { provider_id, package: name, pinned: version }
            if (newest._tag === "Left")
              return { ...pinned, newest: null, state: "unknown", reason: newest.left.message }
            const order = compareVersions(version, newest.right)
            if (order === undefined)
              return { ...pinned, newest: newest.right, state: "unknown", reason: "It is no version of npm." }
            return { ...pinned, newest: newest.right, state: order < 0 ? "outdated" : "newest", reason: null }
          }),
        { concurrency: 8 }
      )
      yield* Effect.sync(() => (json ? found.forEach(printJsonNow) : print(found)))
    })
})

const words: Readonly<Record<Followed["state"], string>> = { newest: "newest", outdated: "newer", unknown: "not known" }

const print = (found: ReadonlyArray<Followed>): void => {
  const rows = found.map(({ newest, package: name, pinned, provider_id, reason, state }) => [
    provider_id,
    name,
    pinned,
    newest === null ? "-" : harmless(newest),
    reason === null ? words[state] : `${words[state]}: ${harmless(reason)}`
  ])
  process.stdout.write(table([["PROVIDER", "PACKAGE", "PINNED", "NEWEST", "STATE"], ...rows]))
  const newer = found.filter(({ state }) => state === "outdated").length
  const unknown = found.filter(({ state }) => state === "unknown").length
  if (newer > 0) tell(`${newer} of ${found.length} packages have a newer version than this release pins.`)
  if (unknown > 0) tell(`The registry did not say of ${unknown}.`)
}
