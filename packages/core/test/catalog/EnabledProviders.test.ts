import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { EnabledProviders } from "@reins/core/catalog/EnabledProviders"
import { HarnessInstallations } from "@reins/core/catalog/HarnessInstallations"
import { Providers } from "@reins/core/catalog/Providers"
import * as Embedded from "@reins/core/Embedded"
import { Jobs } from "@reins/core/jobs/Jobs"
import { Journal } from "@reins/core/store/Journal"
import { Manifests, optionalProviders } from "@reins/machine/harness/Manifests"
import { databases } from "@reins/testing/store/Databases"
import { Context, Effect, Layer } from "effect"

/** A core whose optional providers are off, and who may enable them. */
const core = (database: (typeof databases)[number]["layer"], agentsBy: "owners" | "operator") =>
  Layer.unwrapScoped(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-enabled-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      ),
      (dataDir) =>
        Core.layerWith({ manifests: Manifests.layerIn({}) }).pipe(
          Layer.provideMerge(
            Layer.mergeAll(
              database,
              Boot.layerSingle,
              CoreConfig.layer({ dataDir, cacheDir: join(dataDir, "cache"), executors: ["local"], agentsBy })
            )
          )
        )
    )
  )

const request = (input: Parameters<HarnessInstallations["Type"]["request"]>[2]) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* Embedded.owner
    return yield* (yield* HarnessInstallations).request(principal, workspaceId, input)
  })

const idsOf = Effect.gen(function* () {
  const providers = yield* Providers
  const on = (yield* providers.list).map(({ provider_id }) => provider_id)
  const off = (yield* providers.available).map(({ provider_id }) => provider_id)
  return { on, off }
})

for (const database of databases) {
  layer(core(database.layer, "owners"), { excludeTestServices: true })(`on ${database.name}, owners`, (it) => {
    it.effect("turn an agent on and have it installed, in one request", () =>
      Effect.gen(function* () {
        const providers = yield* Providers
        const before = yield* idsOf
        assert.deepStrictEqual(before.off, [...optionalProviders])
        // Without the wish, one that is off cannot be chosen.
        assert.deepInclude(yield* Effect.flip(request({ provider_id: "goose" })), { code: "provider_disabled" })
        const { operation } = yield* request({ provider_id: "goose", enable: true })
        const { principal } = yield* Embedded.owner
        const job = yield* (yield* Jobs).get(principal, operation.job_id)
        assert.deepInclude(job, { kind: "harness.install", subject: { type: "harness", id: "goose" } })
        const after = yield* idsOf
        assert.deepStrictEqual(after.on, [...before.on, "goose"])
        assert.notInclude(after.off, "goose")
        assert.strictEqual((yield* providers.requireEnabled("goose")).display_name, "Goose")
        // A provider that is on needs nothing, and a reserved one stays reserved.
        assert.deepStrictEqual(yield* request({ provider_id: "goose", enable: true }), { operation })
        for (const id of ["gamma", "../goose", "constructor"])
          assert.deepInclude(yield* Effect.flip(request({ provider_id: id, enable: true })), {
            code: "provider_disabled"
          })
      })
    )

    it.effect("accept a licence that is not open, by its words", () =>
      Effect.gen(function* () {
        const off = (yield* (yield* Providers).available).find(({ provider_id }) => provider_id === "copilot")
        assert.deepInclude(off, { license: "proprietary", license_asked: true, display_name: "GitHub Copilot CLI" })
        for (const accept_license of [undefined, "", "yes", "Apache-2.0"]) {
          const refused = yield* Effect.flip(
            request({ provider_id: "copilot", enable: true, ...(accept_license !== undefined && { accept_license }) })
          )
          assert.deepInclude(refused, { _tag: "RequestInvalid", loc: ["body", "accept_license"] })
          assert.include(refused.message, "The licence of GitHub Copilot CLI is: proprietary")
        }
        assert.include((yield* idsOf).off, "copilot")
        yield* request({ provider_id: "copilot", enable: true, accept_license: "proprietary" })
        assert.include((yield* idsOf).on, "copilot")
      })
    )

    it.effect("are heard in every process of the database, which asks when it does not know a provider", () =>
      Effect.gen(function* () {
        const { commit } = yield* Journal
        const providers = yield* Providers
        const other = yield* Layer.build(EnabledProviders.layer.pipe(Layer.provideMerge(Manifests.layerIn({}))))
        const elsewhere = Context.get(other, EnabledProviders)
        // The other process begins with what was enabled before it.
        assert.include(
          Context.get(other, Manifests).list.map(({ provider_id }) => provider_id),
          "goose"
        )
        // A name that comes twice is one.
        yield* commit(elsewhere.enable(["qwen", "cline", "qwen"]))
        assert.strictEqual((yield* providers.requireEnabled("qwen")).provider_id, "qwen")
        assert.strictEqual((yield* providers.known("cline"))?.provider_id, "cline")
        yield* request({ provider_id: "gemini", enable: true })
        yield* elsewhere.refresh
        assert.strictEqual((yield* Context.get(other, Manifests).get("gemini")).provider_id, "gemini")
      }).pipe(Effect.scoped)
    )

    it.effect("enable nothing where the commit fails", () =>
      Effect.gen(function* () {
        const { commit } = yield* Journal
        const { enable } = yield* EnabledProviders
        const before = yield* idsOf
        yield* Effect.exit(commit(Effect.zipRight(enable(["claude"]), Effect.die("undone"))))
        assert.deepStrictEqual(yield* idsOf, before)
      })
    )

    it.effect("that are forgotten are off in the next process, and names that no release has are passed over", () =>
      Effect.gen(function* () {
        const { commit } = yield* Journal
        const { disable, enable } = yield* EnabledProviders
        yield* commit(Effect.zipRight(disable(["goose", "qwen"]), enable(["of-another-release"])))
        const next = yield* Layer.build(EnabledProviders.layer.pipe(Layer.provideMerge(Manifests.layerIn({}))))
        const ids = Context.get(next, Manifests).list.map(({ provider_id }) => provider_id)
        assert.includeMembers(ids, ["alpha", "copilot", "gemini", "cline"])
        for (const id of ["goose", "qwen", "of-another-release"]) assert.notInclude(ids, id)
      }).pipe(Effect.scoped)
    )
  })
}

layer(core(databases[0]?.layer ?? Layer.die("there is no database"), "operator"), { excludeTestServices: true })(
  "where the operator enables agents",
  (it) => {
    it.effect("an owner is refused, with the command", () =>
      Effect.gen(function* () {
        const refused = yield* Effect.flip(request({ provider_id: "goose", enable: true }))
        assert.deepInclude(refused, { code: "forbidden" })
        assert.include(refused.message, "reins harnesses enable goose")
        // One that is on is installed all the same.
        yield* request({ provider_id: "alpha", enable: true })
      })
    )
  }
)
