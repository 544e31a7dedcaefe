import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Providers } from "@reins/core/catalog/Providers"
import * as Embedded from "@reins/core/Embedded"
import { capabilityNames } from "@reins/machine/harness/Capability"
import { type Check, type Evidence, evidenceSubject } from "@reins/machine/harness/Evidence"
import { Manifests, optionalProviders, vouched } from "@reins/machine/harness/Manifests"
import { temporary } from "@reins/testing/git/Fixture"
import { Context, Effect, Layer } from "effect"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }

/** An agent that nobody has tried: no other has its launch. */
const mine = {
  ...alpha,
  provider_id: "mine",
  capabilities: { ...alpha.capabilities, steer: "supported", interrupt: "unknown" },
  runtime: { ...alpha.runtime, launch: { ...alpha.runtime.launch, args: ["mine"] } }
}

const seen = (...checks: ReadonlyArray<Pick<Check, "capability" | "passed"> & { readonly evidence?: string }>) => ({
  of: evidenceSubject(mine),
  agent: "mine 1",
  platform: "linux-x64",
  observed_at: Timestamp.make("2026-11-23T00:00:00.000Z"),
  checks: checks.map((check) => ({ check: "tried", evidence: "seen", ...check }))
})

const steered = seen({ capability: "steer", passed: true })

/** The capabilities that are left of a manifest, with evidence that the machine has besides. */
const about = Effect.fnUntraced(function* (content: object, evidence: ReadonlyArray<Evidence> = []) {
  const directory = yield* temporary
  writeFileSync(join(directory, "mine.json"), JSON.stringify(content))
  const { get, originOf, provenOf } = yield* Effect.provide(Manifests, Manifests.layerIn({ directory, evidence }))
  const { capabilities } = yield* get("mine")
  const { evidence: used, proofs } = yield* provenOf("mine")
  const shown = Object.fromEntries(proofs.map((proof) => [proof.capability, proof.shown]))
  return { capabilities, shown, proofs, used, digest: (yield* originOf("mine")).digest }
})

describe("evidence", () => {
  it.scoped("is what a capability that is declared supported needs, and without it the capability is unknown", () =>
    Effect.gen(function* () {
      const { capabilities, proofs, shown, used } = yield* about(mine)
      assert.isNull(used)
      assert.strictEqual(shown["steer"], "unproven")
      assert.strictEqual(capabilities.steer, "unknown")
      assert.strictEqual(shown["interrupt"], "unknown")
      assert.strictEqual(shown["credential_writeback"], "unsupported")
      assert.notInclude(Object.values(capabilities), "supported")
      assert.deepStrictEqual(
        proofs.map(({ capability }) => capability),
        [...capabilityNames]
      )
    })
  )

  it.scoped("that a manifest brings along proves what passed in it, and nothing else", () =>
    Effect.gen(function* () {
      const { capabilities, digest, proofs, shown } = yield* about({ ...mine, evidence: steered })
      assert.strictEqual(capabilities.steer, "supported")
      assert.strictEqual(shown["usage"], "unproven")
      assert.deepInclude(
        proofs.find(({ capability }) => capability === "steer"),
        { declared: "supported", shown: "supported", evidence: "seen" }
      )
      // It is no part of what tells two manifests apart.
      assert.strictEqual(digest, (yield* about(mine)).digest)
      const unclaimed = yield* about({ ...mine, evidence: seen({ capability: "interrupt", passed: true }) })
      assert.strictEqual(unclaimed.capabilities.interrupt, "unknown")
    })
  )

  it.scoped("counts when every check of a capability has passed", () =>
    Effect.gen(function* () {
      const once = seen({ capability: "steer", passed: true }, { capability: "steer", passed: false, evidence: "deaf" })
      const { capabilities, proofs } = yield* about({ ...mine, evidence: once })
      assert.strictEqual(capabilities.steer, "unknown")
      assert.deepInclude(
        proofs.find(({ capability }) => capability === "steer"),
        { shown: "unproven", evidence: "seen; deaf" }
      )
    })
  )

  it.scoped("is lost with every change of the packages, the launch, the settings or the credential, and no other", () =>
    Effect.gen(function* () {
      const { runtime } = mine
      const [platform, ...others] = runtime.install.platforms
      const [pinned, ...packages] = platform?.packages ?? []
      const changed = [
        { runtime: { ...runtime, launch: { ...runtime.launch, args: ["other"] } } },
        { runtime: { ...runtime, settings: { ...runtime.settings, resume: "load" } } },
        {
          runtime: {
            ...runtime,
            install: {
              ...runtime.install,
              platforms: [{ ...platform, packages: [{ ...pinned, version: "0.0.0" }, ...packages] }, ...others]
            }
          }
        },
        { credential: { connection_kind: "alpha_gateway", required: false } }
      ]
      for (const change of changed) {
        const { capabilities, used } = yield* about({ ...mine, ...change, evidence: steered })
        assert.isNull(used)
        assert.strictEqual(capabilities.steer, "unknown")
      }
      const renamed = yield* about({ ...mine, display_name: "Ours", tier: "experimental", evidence: steered })
      assert.strictEqual(renamed.capabilities.steer, "supported")
    })
  )

  it.scoped("of the machine counts in the place of what the manifest brings along", () =>
    Effect.gen(function* () {
      const refuted = seen({ capability: "steer", passed: false, evidence: "deaf here" })
      const { capabilities, used } = yield* about({ ...mine, evidence: steered }, [refuted])
      assert.strictEqual(capabilities.steer, "unknown")
      assert.deepStrictEqual(used, refuted)
      assert.strictEqual((yield* about(mine, [steered])).capabilities.steer, "supported")
      const ofAnother = { ...steered, of: evidenceSubject(alpha) }
      assert.strictEqual((yield* about(mine, [ofAnother])).capabilities.steer, "unknown")
    })
  )

  it.scoped("is not asked of a manifest whose author vouches for it", () =>
    Effect.gen(function* () {
      const { capabilities, used } = yield* about(vouched(mine))
      assert.isNull(used?.observed_at)
      assert.strictEqual(capabilities.steer, "supported")
      assert.strictEqual(capabilities.interrupt, "unknown")
    })
  )

  it.scoped("is shown in the catalog, and a capability without it is refused with the command that makes it", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporary
      const manifests = Manifests.layerOf([{ ...mine, evidence: seen({ capability: "usage", passed: true }) }])
      const providers = Context.get(yield* Layer.build(Embedded.layer({ dataDir }, { manifests })), Providers)
      const [entry] = yield* providers.list
      assert.deepStrictEqual(entry?.verified, {
        agent: "mine 1",
        platform: "linux-x64",
        observed_at: steered.observed_at
      })
      assert.deepStrictEqual([entry?.capabilities["usage"], entry?.capabilities["steer"]], ["supported", "unknown"])
      assert.deepInclude(
        entry?.proofs.find(({ capability }) => capability === "steer"),
        { declared: "supported", shown: "unproven", evidence: null }
      )
      const refused = yield* Effect.flip(providers.requireCapability("mine", "steer"))
      assert.deepInclude({ ...refused }, { code: "unsupported_capability" })
      assert.include(refused.message, "reins harnesses verify mine")
      assert.deepInclude(refused.details, { value: "unproven", supported_by: [] })
    })
  )

  it.effect("comes with every provider that is part of Reins, and proves all that it declares", () =>
    Effect.gen(function* () {
      const { list, provenOf } = yield* Effect.provide(Manifests, Manifests.layerIn({ enabled: optionalProviders }))
      for (const { provider_id, runtime } of list.filter(({ tier }) => tier !== "disabled")) {
        const { evidence, proofs } = yield* provenOf(provider_id)
        assert.strictEqual(evidence?.agent, `${runtime?.agent.name} ${runtime?.agent.version}`, provider_id)
        const unproven = proofs.filter(({ shown }) => shown === "unproven").map(({ capability }) => capability)
        assert.deepStrictEqual(
          unproven,
          [],
          `${provider_id}: run reins harnesses verify ${provider_id} --into its file`
        )
      }
    })
  )
})
