import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, layer as suite } from "@effect/vitest"
import { Providers } from "@reins/core/catalog/Providers"
import { Executors } from "@reins/machine/executor/Executors"
import { select, systemsOf } from "@reins/machine/harness/HostPlatform"
import { Manifests } from "@reins/machine/harness/Manifests"
import { services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

const spec = readFileSync(
  fileURLToPath(new URL("../../../server/test/spec/unified-business-api.md", import.meta.url)),
  "utf8"
)

/** The rows of the table with that heading, by column. */
const tableWith = (...heading: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const lines = spec.split("\n")
  const start = lines.indexOf(`| ${heading.join(" | ")} |`)
  assert.isAtLeast(start, 0, heading.join(", "))
  const rest = lines.slice(start + 2)
  const end = rest.findIndex((line) => !line.startsWith("|"))
  return rest.slice(0, end).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim())
  )
}

/** The specification's words for a connection. */
const credentialsOf = (connection: { readonly kind: string; readonly required: boolean } | null): string => {
  if (connection === null) return "n/a"
  return connection.required
    ? `a Connection of the kind ${connection.kind}`
    : `optional Connection of the kind ${connection.kind}`
}

const [sqlite] = databases
if (sqlite === undefined) throw new Error("there is no database")

suite(services(sqlite.layer))("the catalog", (it) => {
  it.effect("lists the specification's providers, in its order, with their tiers and credentials", () =>
    Effect.gen(function* () {
      const specified = tableWith("Provider", "Support tier", "Credentials").map((row) => [...row])
      const ids = specified.map(([id]) => id)
      const entries = (yield* (yield* Providers).list).filter((entry) => ids.includes(entry.provider_id))
      assert.deepStrictEqual(
        entries.map((entry) => [entry.provider_id, entry.tier, credentialsOf(entry.connection)]),
        specified
      )
    })
  )

  it.effect("tells the systems that each agent is pinned for, and whether this machine is one", () =>
    Effect.gen(function* () {
      const entries = yield* (yield* Providers).list
      const manifests = (yield* Manifests).list
      for (const { installable, platforms, provider_id } of entries) {
        const pinned = manifests.find((each) => each.provider_id === provider_id)?.runtime?.install.platforms ?? []
        assert.deepStrictEqual(platforms, systemsOf(pinned), provider_id)
        assert.strictEqual(installable, select(pinned) !== undefined, provider_id)
      }
      assert.isTrue(entries.some(({ platforms }) => platforms.length === 0))
      assert.isTrue(entries.some(({ platforms }) => platforms.length > 1))
    })
  )

  it.effect("declares for alpha exactly the specification's capabilities", () =>
    Effect.gen(function* () {
      const alpha = (yield* (yield* Providers).list).find((entry) => entry.provider_id === "alpha")
      assert.deepStrictEqual(alpha?.capabilities, Object.fromEntries(tableWith("Capability", "Value")))
    })
  )

  it.effect("supports nothing with a disabled provider, which cannot be selected", () =>
    Effect.gen(function* () {
      const providers = yield* Providers
      for (const entry of (yield* providers.list).filter(({ tier }) => tier === "disabled")) {
        assert.isFalse(Object.values(entry.capabilities).includes("supported"), entry.provider_id)
        assert.strictEqual((yield* Effect.flip(providers.requireEnabled(entry.provider_id))).code, "provider_disabled")
        assert.isFalse(entry.installed)
      }
    })
  )

  it.effect("refuses a capability that is unknown like one that is unsupported", () =>
    Effect.gen(function* () {
      const providers = yield* Providers
      for (const entry of (yield* providers.list).filter(({ tier }) => tier !== "disabled")) {
        for (const [capability, value] of tableWith("Capability", "Value")) {
          if (capability !== "steer" && capability !== "model_discovery") continue
          const result = yield* Effect.either(providers.requireCapability(entry.provider_id, capability))
          const declared = entry.capabilities[capability]
          assert.strictEqual(result._tag === "Right", declared === "supported", `${entry.provider_id} ${capability}`)
          if (result._tag === "Left") assert.strictEqual(result.left.code, "unsupported_capability")
          assert.isString(value)
        }
      }
    })
  )

  it.effect("has one executor backend that is the default, and says of each what it isolates", () =>
    Effect.gen(function* () {
      const { get, list: listed } = yield* Executors
      const list = yield* listed
      assert.lengthOf(
        list.filter((entry) => entry.default),
        1
      )
      for (const entry of list) {
        assert.isNotEmpty(entry.note)
        const found = yield* Effect.either(get(entry.backend))
        assert.strictEqual(found._tag === "Right" ? found.right.backend : null, entry.available ? entry.backend : null)
      }
      const local = list.find((entry) => entry.backend === "local")
      assert.deepInclude(local?.isolation, { security_boundary: false })
      assert.strictEqual((yield* Effect.flip(get("nowhere"))).kind, "unavailable")
    })
  )
})
