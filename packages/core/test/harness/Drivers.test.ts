import { assert, it } from "@effect/vitest"
import { builtInDrivers, Harness, ProviderUndriven } from "@reins/machine/harness/Harness"
import { Manifests } from "@reins/machine/harness/Manifests"
import { harnessDriverSuite } from "@reins/testing/harness/HarnessDriverSuite"
import { place, scriptedManifest, turnInput } from "@reins/testing/harness/Turns"
import { Effect, Layer } from "effect"

/** An agent for each driver that is part of Reins. */
const agents: Readonly<Record<string, (...steps: ReadonlyArray<object>) => string>> = {
  acp: (...steps) => JSON.stringify(steps)
}

for (const driver of builtInDrivers) {
  const script = agents[driver.driver]
  if (script === undefined) {
    it(`${driver.driver} has an agent to be tried with`, () => assert.fail("add it to this file"))
    continue
  }
  const { executor } = turnInput({ homeDir: "/", workspaceDir: "/" }, "")
  harnessDriverSuite({
    driver,
    executor,
    settings: scriptedManifest().runtime?.settings,
    talking: Effect.map(place, (where) => turnInput(where, script({ say: "Hello." }))),
    endless: Effect.map(place, (where) => turnInput(where, script({ hang: true })))
  })
}

it.effect("a provider whose driver is not there, or does not take its settings, stops the start", () =>
  Effect.gen(function* () {
    const alpha = yield* Effect.flatMap(Manifests, (manifests) => manifests.get("alpha")).pipe(
      Effect.provide(Manifests.layer)
    )
    const start = (runtime: object) =>
      Effect.flip(
        Effect.provide(
          Harness,
          Layer.provide(Harness.layer, Manifests.layerOf([{ ...alpha, runtime: { ...alpha.runtime, ...runtime } }]))
        )
      )
    const unknown = yield* start({ driver: "telepathy" })
    assert.instanceOf(unknown, ProviderUndriven)
    assert.include(unknown.message, "telepathy")
    const broken = yield* start({ settings: { resume: "load" } })
    assert.instanceOf(broken, ProviderUndriven)
    assert.include(broken.message, "alpha")
  })
)
