import { canonicalJson, digestOf } from "@reins/base/base/CanonicalJson"
import { once } from "@reins/base/base/Once"
import { fn } from "@reins/base/base/Traced"
import { Context, Data, Effect, Layer, ParseResult, Schema } from "effect"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }
import beta from "../../../../manifests/beta.json" with { type: "json" }
import delta from "../../../../manifests/delta.json" with { type: "json" }
import epsilon from "../../../../manifests/epsilon.json" with { type: "json" }
import gamma from "../../../../manifests/gamma.json" with { type: "json" }
import zeta from "../../../../manifests/zeta.json" with { type: "json" }
import type { CapabilityProof } from "./Capability.js"
import { type Evidence, evidenceSubject, proofsOf } from "./Evidence.js"
import { Manifest } from "./Manifest.js"
import { type ManifestSource, readDirectory } from "./ManifestFiles.js"
import { ManifestInvalid } from "./ManifestInvalid.js"
import { isOptional, type OptionalProvider, optionalManifests, readOptional } from "./OptionalManifests.js"

export { vouched } from "./Evidence.js"
export { ManifestInvalid } from "./ManifestInvalid.js"
export { type OptionalProvider, optionalProviders } from "./OptionalManifests.js"

/** No manifest declares this provider. */
export class HarnessNotFound extends Data.TaggedError("HarnessNotFound")<{
  /** The id that the caller gave. */
  readonly providerId: string
}> {}

/** The place that a manifest comes from, and what it is. */
export interface ManifestOrigin {
  /**
   * `built-in` for what every installation has, `optional` for what is part of Reins and was enabled, `program` for what a program has given,
   * else the path of a file.
   */
  readonly source: string
  /** `sha256:<hex>` of the manifest, without its evidence, as JSON with sorted keys and without white space. */
  readonly digest: string
}

/** The capabilities of a provider with their evidence. */
export interface ProvenCapabilities {
  /** Every capability, in the order of the specification. */
  readonly proofs: ReadonlyArray<CapabilityProof>
  /** The evidence that counts for the manifest; null when there is none. */
  readonly evidence: Evidence | null
}

/** The manifests of an installation besides those that every installation has. */
export interface ManifestPlaces {
  /** A directory whose `*.json` are manifests. Each adds a provider or replaces the one of its id. */
  readonly directory?: string | undefined
  /** The providers of `optionalProviders` that are enabled. */
  readonly enabled?: ReadonlyArray<OptionalProvider>
  /** The records of trials on this machine. They count in the place of the evidence that a manifest brings along. */
  readonly evidence?: ReadonlyArray<Evidence>
}

/** The providers that this service knows. */
export class Manifests extends Context.Tag("@reins/core/harness/Manifests")<
  Manifests,
  {
    /** All of them, disabled ones too, in a fixed order. A capability that is declared `supported` and not proven is `unknown` here. */
    readonly list: ReadonlyArray<Manifest>
    /** The provider of a session that names none. It is the first one that can be chosen. */
    readonly defaultId: string
    /** The manifest of a provider, also of a disabled one. Fails with `HarnessNotFound` for an id that no manifest declares. */
    readonly get: (providerId: string) => Effect.Effect<Manifest, HarnessNotFound>
    /** The capabilities as the manifest declares them, with the evidence. Fails with `HarnessNotFound` for an id that no manifest declares. */
    readonly provenOf: (providerId: string) => Effect.Effect<ProvenCapabilities, HarnessNotFound>
    /** The providers that are part of Reins and off here. None for the manifests of a program, which enables no others. */
    readonly available: Effect.Effect<ReadonlyArray<Manifest>>
    /** Takes those of `available` with these ids into the list. Other ids are passed over: a release may have lost them. */
    readonly enable: (providerIds: ReadonlyArray<string>) => Effect.Effect<void>
    /** The origin of the manifest of a provider. Fails with `HarnessNotFound` for an id that no manifest declares. */
    readonly originOf: (providerId: string) => Effect.Effect<ManifestOrigin, HarnessNotFound>
  }
>() {
  /** Only the given manifests. Fails with `ManifestInvalid`, so that a broken one stops the start. */
  static readonly layerOf = (manifests: ReadonlyArray<unknown>) => Layer.effect(Manifests, make([ofProgram(manifests)]))

  /** The built-in manifests with those of a program: each adds a provider or replaces the one of its id. Fails with `ManifestInvalid`. */
  static readonly layerWith = (own: ReadonlyArray<unknown>) => Layer.effect(Manifests, make([builtIn, ofProgram(own)]))

  /** The built-in manifests, the enabled optional ones, and those of a directory, which come before the others. Fails with `ManifestInvalid`. */
  static readonly layerIn = ({ directory, enabled = [], evidence = [] }: ManifestPlaces) =>
    Layer.effect(
      Manifests,
      Effect.gen(function* () {
        const own = directory === undefined ? [] : yield* readDirectory(directory)
        const withOptional = (ids: ReadonlyArray<OptionalProvider>) =>
          Effect.flatMap(Effect.forEach(ids, sourceOf), (optional) => declare([builtIn, optional, own], evidence))
        let on = [...new Set(enabled)]
        let now = yield* withOptional(on)
        const { withPermits } = yield* Effect.makeSemaphore(1)
        return over(() => now, {
          available: Effect.map(optionalManifests, (all) =>
            all.filter(({ provider_id }) => !now.declared.has(provider_id))
          ),
          enable: (ids) =>
            Effect.gen(function* () {
              const more = [...new Set(ids)].filter(isOptional).filter((id) => !now.declared.has(id))
              if (more.length === 0) return
              // All that is given was read before, and the optional ones are those of this release.
              now = yield* Effect.orDie(withOptional([...on, ...more]))
              on = [...on, ...more]
            }).pipe(withPermits(1))
        })
      })
    )

  /** The manifests that every installation has. */
  static readonly layer = Layer.effect(
    Manifests,
    Effect.suspend(() => ofEveryInstallation)
  )
}

const builtIn: ReadonlyArray<ManifestSource> = [alpha, beta, gamma, delta, epsilon, zeta].map((content) => ({
  source: "built-in",
  content
}))

const ofProgram = (manifests: ReadonlyArray<unknown>): ReadonlyArray<ManifestSource> =>
  manifests.map((content) => ({ source: "program", content }))

/** A manifest that was read, with what it was read from and what is proven of it. */
interface Declared extends ManifestSource, ProvenCapabilities {
  readonly manifest: Manifest
}

/** The manifests that are declared, by the ids of their providers. */
interface Declarations {
  readonly declared: ReadonlyMap<string, Declared>
  readonly list: ReadonlyArray<Manifest>
}

/**
 * Joins groups of manifests. A later group replaces what an earlier one has; no group has two manifests of one provider. `seen` is evidence of
 * this installation.
 */
const declare = Effect.fnUntraced(function* (
  groups: ReadonlyArray<ReadonlyArray<ManifestSource>>,
  seen: ReadonlyArray<Evidence> = []
) {
  const declared = new Map<string, Declared>()
  for (const group of groups) {
    const own = new Map<string, Declared>()
    for (const given of group) {
      const one = prove(given, yield* decode(given), seen)
      const other = own.get(one.manifest.provider_id)
      if (other !== undefined) return yield* declaredTwice(given, other)
      own.set(one.manifest.provider_id, one)
    }
    for (const [id, one] of own) declared.set(id, one)
  }
  const declarations: Declarations = { declared, list: [...declared.values()].map(({ manifest }) => manifest) }
  return declarations
})

/** The service over the manifests as they are when somebody asks. The default stays that of the start. */
const over = (now: () => Declarations, more: Pick<Manifests["Type"], "available" | "enable">) => {
  const find = (providerId: string) =>
    Effect.suspend(() =>
      Effect.mapError(Effect.fromNullable(now().declared.get(providerId)), () => new HarnessNotFound({ providerId }))
    )
  const { list } = now()
  return Manifests.of({
    ...more,
    get list() {
      return now().list
    },
    defaultId: (list.find(({ tier }) => tier !== "disabled") ?? list[0])?.provider_id ?? "",
    get: fn("Manifests.get")((providerId) => Effect.map(find(providerId), ({ manifest }) => manifest)),
    provenOf: fn("Manifests.provenOf")((providerId) =>
      Effect.map(find(providerId), ({ evidence, proofs }) => ({ evidence, proofs }))
    ),
    originOf: fn("Manifests.originOf")((providerId) =>
      Effect.map(find(providerId), ({ content, source }) => ({
        source,
        digest: digestOf(canonicalJson(claims(content)))
      }))
    )
  })
}

/** Manifests that stay as they are. */
const make = (groups: ReadonlyArray<ReadonlyArray<ManifestSource>>) =>
  Effect.map(declare(groups), (declarations) =>
    over(() => declarations, { available: Effect.succeed([]), enable: () => Effect.void })
  )

const sourceOf = (id: OptionalProvider): Effect.Effect<ManifestSource> =>
  Effect.map(readOptional(id), (content) => ({ source: "optional", content }))

/** They are part of the program, so a process reads them once. */
const ofEveryInstallation = Effect.runSync(once(Effect.suspend(() => make([builtIn]))))

/** A manifest without what was seen of it. */
const claims = (content: unknown): unknown =>
  typeof content === "object" && content !== null ? { ...content, evidence: undefined } : content

/** Leaves of the capabilities of a manifest what is proven. */
const prove = (given: ManifestSource, manifest: Manifest, seen: ReadonlyArray<Evidence>): Declared => {
  const subject = evidenceSubject(manifest)
  const evidence = [...seen, ...(manifest.evidence ? [manifest.evidence] : [])].find(({ of }) => of === subject)
  const proofs = proofsOf(manifest.capabilities, evidence)
  const unproven = proofs.filter(({ shown }) => shown === "unproven").map(({ capability }) => [capability, "unknown"])
  const capabilities = { ...manifest.capabilities, ...Object.fromEntries(unproven) }
  return { ...given, manifest: { ...manifest, capabilities }, proofs, evidence: evidence ?? null }
}

const decodeManifest = Schema.decodeUnknown(Manifest, { onExcessProperty: "error", errors: "all" })

/** Reads a manifest. The failure names where it comes from, and each field that is wrong. */
const decode = ({ content, source }: ManifestSource): Effect.Effect<Manifest, ManifestInvalid> =>
  Effect.mapError(decodeManifest(content), ({ issue }) => {
    const faults = ParseResult.ArrayFormatter.formatIssueSync(issue)
    const problems = faults.slice(0, mostFaults).map(({ message, path }) => `${fieldOf(path)}: ${message}`)
    const more = faults.length > mostFaults ? [`${faults.length - mostFaults} more`] : []
    return new ManifestInvalid({ source: nameOf({ content, source }), problem: [...problems, ...more].join("; ") })
  })

/** The most faults of a manifest that an error tells. */
const mostFaults = 5

const fieldOf = (path: ReadonlyArray<PropertyKey>): string =>
  path.length === 0
    ? "the manifest"
    : path.map((key, at) => (typeof key === "number" ? `[${key}]` : `${at === 0 ? "" : "."}${String(key)}`)).join("")

const Named = Schema.Struct({ provider_id: Schema.String })

/** The path of a file is name enough; the others are known by the provider that they say they declare. */
const nameOf = ({ content, source }: ManifestSource): string => {
  if (source.includes("/") || source.includes("\\")) return source
  return Schema.is(Named)(content) ? `${source} ${content.provider_id}` : source
}

const declaredTwice = (given: ManifestSource, other: Declared) =>
  new ManifestInvalid({
    source: nameOf(given),
    problem: `provider_id: ${other.manifest.provider_id} is also declared by ${nameOf(other)}`
  })
