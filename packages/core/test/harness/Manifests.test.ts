import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it, layer as withLayer } from "@effect/vitest"
import { render } from "@reins/core/harness/Launch"
import { capabilityNames, Manifest } from "@reins/core/harness/Manifest"
import { Manifests } from "@reins/core/harness/Manifests"
import { Effect, Schema } from "effect"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }

withLayer(Manifests.layer)("manifests", (it) => {
  it.effect("are in the list, each file of their folder", () =>
    Effect.gen(function* () {
      const { list } = yield* Manifests
      const files = readdirSync(new URL("../../../../manifests/", import.meta.url)).filter(
        (name) => name !== "providers.json"
      )
      assert.sameMembers(
        list.map((manifest) => `${manifest.provider_id}.json`),
        files,
        "add it to the list of harness/Manifests.ts"
      )
    })
  )

  it.effect("that are bound to an agent have a file here that runs it", () =>
    Effect.gen(function* () {
      const { list } = yield* Manifests
      const here = new URL("./", import.meta.url)
      const tests = readdirSync(here)
        .map((name) => readFileSync(new URL(name, here), "utf8"))
        .join("\n")
      for (const { provider_id } of list.filter(({ runtime }) => runtime !== null))
        assert.include(tests, `installed("${provider_id}")`, `write a file like OpenCode.test.ts for ${provider_id}`)
    })
  )

  it.effect("alpha requires its gateway and can do what its table says, no more", () =>
    Effect.gen(function* () {
      const manifest = yield* (yield* Manifests).get("alpha")
      assert.deepStrictEqual(manifest.credential, { connection_kind: "alpha_gateway", required: true })
      const supported = capabilityNames.filter((name) => manifest.capabilities[name] === "supported")
      assert.deepStrictEqual(supported, [
        "event_stream",
        "model_discovery",
        "native_resume",
        "native_state_export",
        "usage"
      ])
      assert.notInclude(Object.values(manifest.capabilities), "unknown")
    })
  )

  it.effect("beta takes a connection that it can do without", () =>
    Effect.gen(function* () {
      const manifest = yield* (yield* Manifests).get("beta")
      assert.deepInclude(manifest.credential, { connection_kind: "beta", required: false })
    })
  )

  it.effect("disabled providers support nothing and are bound to nothing", () =>
    Effect.gen(function* () {
      const { list } = yield* Manifests
      for (const manifest of list.filter((each) => each.tier === "disabled")) {
        assert.isNull(manifest.runtime)
        assert.notInclude(Object.values(manifest.capabilities), "supported")
      }
    })
  )

  it.effect("an unknown provider is HarnessNotFound", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* Manifests).get("omega"))
      assert.deepInclude({ ...error }, { _tag: "HarnessNotFound", providerId: "omega" })
    })
  )
})

describe("the schema of a manifest", () => {
  const refused = (change: object) => Schema.decodeUnknownEither(Manifest)({ ...alpha, ...change })._tag === "Left"
  const launch = (change: object) => ({ runtime: { ...alpha.runtime, launch: { ...alpha.runtime.launch, ...change } } })

  it("refuses a secret in an argument or a file", () => {
    assert.isTrue(refused(launch({ args: ["--key", "{{secret.api_key}}"] })))
    const [profile] = alpha.runtime.launch.profiles
    assert.isTrue(
      refused(launch({ profiles: [{ ...profile, files: [{ path: "key", content: "{{ secret.api_key }}" }] }] }))
    )
  })

  it("refuses a package without a digest, and a bound provider without an agent", () => {
    const install = { packages: [{ name: "a", version: "1.0.0", integrity: "" }], platforms: [] }
    assert.isTrue(refused({ runtime: { ...alpha.runtime, install } }))
    assert.isTrue(refused({ runtime: null }))
  })
})

describe("a template", () => {
  const values = { home: "/h", "connection.base_url": 'http://a/"v1' }

  it.effect("takes values, defaults and quoted values", () =>
    Effect.gen(function* () {
      const text = yield* render("{{home}} {{connection.other|none}} {{json connection.base_url}}", values)
      assert.strictEqual(text, '/h none "http://a/\\"v1"')
    })
  )

  it.effect("names what is missing, and never renders a value again", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(render("{{model}}", values)), "model")
      assert.strictEqual(yield* render("{{model}}", { model: "{{home}}" }), "{{home}}")
    })
  )
})
