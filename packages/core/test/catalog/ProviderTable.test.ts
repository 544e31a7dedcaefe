import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Effect } from "effect"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

it("the table of the providers is what the manifests say", () => {
  execFileSync(process.execPath, ["scripts/providers.mjs", "--check"], { cwd: root, stdio: "pipe" })
})

it.effect("the table holds every provider of the service, with its tier, its connection and its capabilities", () =>
  Effect.gen(function* () {
    const { list } = yield* Manifests
    const { providers } = JSON.parse(readFileSync(`${root}manifests/providers.json`, "utf8"))
    assert.deepStrictEqual(
      providers,
      list.map((manifest) => ({
        provider_id: manifest.provider_id,
        display_name: manifest.display_name,
        tier: manifest.tier,
        connection:
          manifest.credential === null
            ? null
            : { kind: manifest.credential.connection_kind, required: manifest.credential.required },
        capabilities: { ...manifest.capabilities },
        agent: manifest.runtime === null ? null : { ...manifest.runtime.agent }
      }))
    )
  }).pipe(Effect.provide(Manifests.layer))
)
