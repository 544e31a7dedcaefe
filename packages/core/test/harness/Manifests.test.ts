import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer as withLayer } from "@effect/vitest"
import { capabilityNames } from "@reins/machine/harness/Capability"
import { Harness } from "@reins/machine/harness/Harness"
import { render } from "@reins/machine/harness/Launch"
import { Manifest } from "@reins/machine/harness/Manifest"
import { Manifests, optionalProviders } from "@reins/machine/harness/Manifests"
import { temporary } from "@reins/testing/git/Fixture"
import { Effect, Layer, Schema } from "effect"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }

withLayer(Manifests.layer)("manifests", (it) => {
  it.effect("are in the list, each file of their folder", () =>
    Effect.gen(function* () {
      const { list } = yield* Manifests
      const files = readdirSync(new URL("../../../../manifests/", import.meta.url)).filter(
        (name) => name.endsWith(".json") && name !== "providers.json" && name !== "prices.json"
      )
      assert.sameMembers(
        list.map((manifest) => `${manifest.provider_id}.json`),
        files,
        "add it to the list of harness/Manifests.ts"
      )
    })
  )

  it.effect("that are bound to an agent have a file that runs it", () =>
    Effect.gen(function* () {
      const { list } = yield* Manifests
      const here = new URL("../../agents/", import.meta.url)
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
        "usage",
        "tool_calls"
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

describe("manifests besides the built-in ones", () => {
  const mine = { ...alpha, provider_id: "mine", display_name: "Mine" }
  const built = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
  const idsOf = <E>(layer: Layer.Layer<Manifests, E>) =>
    Effect.map(Effect.provide(Manifests, layer), ({ list }) => list.map(({ provider_id }) => provider_id))
  const directoryOf = (files: Readonly<Record<string, unknown>>) =>
    Effect.map(temporary, (directory) => {
      for (const [name, content] of Object.entries(files))
        writeFileSync(join(directory, name), typeof content === "string" ? content : JSON.stringify(content))
      return directory
    })
  const refusal = (files: Readonly<Record<string, unknown>>) =>
    Effect.flatMap(directoryOf(files), (directory) =>
      Effect.flip(Effect.provide(Manifests, Manifests.layerIn({ directory })))
    )

  it.effect("are added or replace one, and the rest stays", () =>
    Effect.gen(function* () {
      const replaced = { ...alpha, display_name: "Another one" }
      assert.deepStrictEqual(yield* idsOf(Manifests.layerWith([mine, replaced])), [...built, "mine"])
      const { defaultId, get, originOf } = yield* Effect.provide(Manifests, Manifests.layerWith([replaced]))
      assert.strictEqual(defaultId, "alpha")
      assert.strictEqual((yield* get("alpha")).display_name, "Another one")
      assert.strictEqual((yield* originOf("alpha")).source, "program")
      assert.strictEqual((yield* originOf("beta")).source, "built-in")
      const before = yield* Effect.flatMap(Manifests, (all) => all.originOf("alpha")).pipe(
        Effect.provide(Manifests.layer)
      )
      assert.match(before.digest, /^sha256:[0-9a-f]{64}$/)
      assert.notStrictEqual((yield* originOf("alpha")).digest, before.digest)
    })
  )

  it.scoped("come from a directory, whose files win over all others", () =>
    Effect.gen(function* () {
      const directory = yield* directoryOf({
        "a.json": mine,
        "claude.json": { ...mine, provider_id: "claude" },
        "notes.txt": "no manifest"
      })
      const layer = Manifests.layerIn({ directory, enabled: ["goose", "claude"] })
      assert.deepStrictEqual(yield* idsOf(layer), [...built, "goose", "claude", "mine"])
      const { available, originOf } = yield* Effect.provide(Manifests, layer)
      const off = (yield* available).map(({ provider_id }) => provider_id)
      assert.sameMembers(
        off,
        optionalProviders.filter((id) => id !== "goose" && id !== "claude")
      )
      assert.deepStrictEqual(yield* (yield* Effect.provide(Manifests, Manifests.layerWith([mine]))).available, [])
      assert.strictEqual((yield* originOf("goose")).source, "optional")
      assert.strictEqual((yield* originOf("claude")).source, join(directory, "claude.json"))
      const copied = yield* directoryOf({ "x.json": JSON.stringify(mine, null, 8) })
      const other = yield* Effect.provide(Manifests, Manifests.layerIn({ directory: copied }))
      assert.strictEqual((yield* other.originOf("mine")).digest, (yield* originOf("mine")).digest)
    })
  )

  it.scoped("that are broken stop the start with the file and each field", () =>
    Effect.gen(function* () {
      const launch = { ...alpha.runtime.launch, args: ["acp", 1] }
      const broken = { ...mine, tier: "best", more: 1, runtime: { ...alpha.runtime, launch } }
      const { message } = yield* refusal({ "mine.json": broken })
      assert.match(message, /\/mine\.json cannot be used: /)
      for (const field of ["tier: ", "more: ", "runtime.launch.args[1]: "]) assert.include(message, field)
      assert.include((yield* refusal({ "cut.json": "{" })).message, "/cut.json cannot be used: the file is not JSON")
      const twice = yield* refusal({ "one.json": mine, "two.json": mine })
      assert.match(twice.message, /two\.json cannot be used: provider_id: mine is also declared by \S+one\.json$/)
      const nowhere = yield* Effect.flip(
        Effect.provide(Manifests, Manifests.layerIn({ directory: "/nonexistent/manifests" }))
      )
      assert.include(nowhere.message, "/nonexistent/manifests cannot be used: the directory cannot be read")
      const given = yield* Effect.flip(Effect.provide(Manifests, Manifests.layerWith([{ ...mine, tier: "best" }])))
      assert.include(given.message, "program mine cannot be used: tier: ")
    })
  )

  it.effect("that are part of Reins and off can all be enabled, each experimental and with the gateway kind", () =>
    Effect.gen(function* () {
      const { list } = yield* Effect.provide(Manifests, Manifests.layerIn({ enabled: optionalProviders }))
      const files = readdirSync(new URL("../../../../manifests/optional/", import.meta.url))
      assert.sameMembers(
        files,
        optionalProviders.map((id) => `${id}.json`)
      )
      const driven = Layer.provide(Harness.layer, Manifests.layerIn({ enabled: optionalProviders }))
      assert.isDefined(yield* Effect.provide(Harness, driven))
      for (const { credential, provider_id, runtime, tier } of list.slice(built.length)) {
        assert.include(optionalProviders, provider_id)
        assert.strictEqual(tier, "experimental")
        assert.strictEqual(credential?.connection_kind, "gateway")
        assert.isNotEmpty(credential?.protocols)
        for (const { executable, packages } of runtime?.install.platforms ?? []) {
          const places = [...(runtime?.install.packages ?? []), ...packages].map(
            ({ name, path }) => `${path ?? `node_modules/${name}`}/`
          )
          assert.isTrue(
            places.some((place) => executable.startsWith(place)),
            `${provider_id}: ${executable}`
          )
        }
      }
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
