import { join } from "node:path"
import { assert, it, layer as suite } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { HarnessInstallations } from "@reins/core/catalog/HarnessInstallations"
import { Providers } from "@reins/core/catalog/Providers"
import * as Embedded from "@reins/core/Embedded"
import { JobStore } from "@reins/core/jobs/JobStore"
import { Jobs } from "@reins/core/jobs/Jobs"
import * as Cluster from "@reins/core/placement/cluster/Cluster"
import { Nodes } from "@reins/core/placement/Nodes"
import { Journal } from "@reins/core/store/Journal"
import * as Postgres from "@reins/core/store/Postgres"
import { Manifests } from "@reins/machine/harness/Manifests"
import { installedFrom, registry } from "@reins/testing/harness/Registry"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases, migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { ConfigProvider, Effect, Layer, Logger, LogLevel, type Redacted } from "effect"

const alpha = { provider_id: "alpha" }

const codeOf = (refusal: object) => ("code" in refusal ? String(refusal.code) : "")

const [sqlite] = databases
if (sqlite === undefined) throw new Error("there is no database")

for (const database of databases) {
  suite(services(database.layer), { excludeTestServices: true })(`installations on ${database.name}`, (it) => {
    it.effect("one that has not ended is given back, and only an owner with the scope `admin` asks for one", () =>
      Effect.gen(function* () {
        const installations = yield* HarnessInstallations
        const { principal, workspaceId } = yield* Embedded.owner
        const first = yield* installations.request(principal, workspaceId, alpha)
        assert.deepStrictEqual(yield* installations.request(principal, workspaceId, alpha), first)
        const job = yield* (yield* Jobs).get(principal, first.operation.job_id)
        assert.deepInclude(job, { kind: "harness.install", subject: { type: "harness", id: "alpha" } })

        const writer = { ...principal, scopes: ["write"] as const }
        const refusals = yield* Effect.all([
          Effect.flip(installations.request(writer, workspaceId, alpha)),
          Effect.flip(installations.request({ ...principal, workspaceId }, "ws_other", alpha)),
          Effect.flip(installations.request(principal, workspaceId, { provider_id: "gamma" })),
          Effect.flip(installations.request(principal, workspaceId, { provider_id: "../alpha" }))
        ])
        assert.deepStrictEqual(refusals.map(codeOf), [
          "insufficient_scope",
          "not_found",
          "provider_disabled",
          "provider_disabled"
        ])
      })
    )

    it.effect("a workspace asks ten times within an hour", () =>
      Effect.gen(function* () {
        const installations = yield* HarnessInstallations
        const jobs = yield* JobStore
        const journal = yield* Journal
        const { principal, workspaceId } = yield* ownerWithConnection
        const codes: Array<string> = []
        for (let time = 0; time < 12; time++) {
          const asked = yield* Effect.either(installations.request(principal, workspaceId, alpha))
          if (asked._tag === "Left") codes.push(codeOf(asked.left))
          else yield* journal.commit(jobs.cancel(asked.right.operation.job_id))
        }
        // The suite has asked once before.
        assert.deepStrictEqual(codes, ["rate_limited", "rate_limited"])
      })
    )
  })
}

/** A core whose alpha comes from a registry of the test, with a worker. */
const installing = (from: Effect.Effect.Success<typeof registry>) =>
  Core.worker.pipe(
    Layer.provideMerge(Core.layerWith({ manifests: Manifests.layerOf([installedFrom(from.packages)]) })),
    Layer.provide(
      Layer.mergeAll(
        sqlite.layer,
        Boot.layerSingle,
        CoreConfig.layer({ dataDir: from.cacheDir, cacheDir: from.cacheDir, executors: ["local"], prewarm: false })
      )
    ),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["REINS_NPM_REGISTRY", from.url]]))))
  )

it.scopedLive("the job downloads what was pinned, tells how far it is, and says why it cannot", () =>
  Effect.gen(function* () {
    const from = yield* registry
    yield* Effect.gen(function* () {
      const installations = yield* HarnessInstallations
      const jobs = yield* Jobs
      const providers = yield* Providers
      const { principal, workspaceId } = yield* Embedded.owner
      const entry = Effect.map(providers.list, ([first]) => first)
      const ended = (id: string) =>
        Effect.repeat(Effect.delay(jobs.get(principal, id), "20 millis"), {
          until: ({ finished_at }) => finished_at !== null
        })
      assert.deepInclude(yield* entry, { installed: false, installing: null })

      from.altered.add("agent")
      const refused = yield* installations.request(principal, workspaceId, alpha)
      const failed = yield* ended(refused.operation.job_id)
      assert.deepInclude(failed, { state: "failed", attempt_count: 1 })
      assert.deepInclude(failed.error, { code: "integrity", retryable: false })
      from.altered.clear()

      from.held.add("@scope/dependency")
      const { operation } = yield* installations.request(principal, workspaceId, alpha)
      const progress = yield* Effect.repeat(Effect.delay(entry, "20 millis"), {
        until: (each) => each?.installing?.packages_done === 1
      })
      assert.deepInclude(progress?.installing, { package: "@scope/dependency@1.0.0", packages_total: 2 })
      assert.isFalse(progress?.installed)
      from.release()
      assert.deepInclude(yield* ended(operation.job_id), { state: "succeeded", error: null })
      assert.deepInclude(yield* entry, { installed: true, installing: null })
    }).pipe(Effect.provide(installing(from)))
  })
)

/** A node of several whose alpha comes from a registry of the test, with a worker. */
const installingNode = (
  from: Effect.Effect.Success<typeof registry>,
  url: Redacted.Redacted,
  { name, role }: { readonly name: string; readonly role: "api" | "runner" }
) => {
  const dataDir = join(from.cacheDir, name)
  const leases = Postgres.layerAsIs(url)
  const nodes = Cluster.layer({ name, address: `http://${name}.test`, role, leases, renewMs: 200 })
  return Core.worker.pipe(
    Layer.provideMerge(Core.layerWith({ manifests: Manifests.layerOf([installedFrom(from.packages)]), nodes })),
    Layer.provide(
      Layer.mergeAll(
        Postgres.layer(url, { isNode: true }),
        Boot.layerSingle,
        CoreConfig.layer({
          dataDir,
          cacheDir: join(dataDir, "cache"),
          keyFile: join(from.cacheDir, "keyring.json"),
          executors: ["local"],
          blobs: { kind: "postgres" },
          prewarm: false
        })
      )
    ),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["REINS_NPM_REGISTRY", from.url]])))),
    Layer.provide(Logger.minimumLogLevel(LogLevel.Error))
  )
}

it.scopedLive("of several nodes each that has sessions installs what one was asked for, and all know it", () =>
  Effect.gen(function* () {
    const from = yield* registry
    const url = yield* migratedPostgresDatabase
    const begin = (name: string, role: "api" | "runner") => Layer.build(installingNode(from, url, { name, role }))
    const front = yield* begin("front", "api")
    yield* begin("one", "runner")
    yield* begin("two", "runner")
    yield* Effect.gen(function* () {
      const { principal, workspaceId } = yield* Embedded.owner
      const { operation } = yield* (yield* HarnessInstallations).request(principal, workspaceId, alpha)
      const ended = yield* Effect.repeat(Effect.delay((yield* Jobs).get(principal, operation.job_id), "20 millis"), {
        until: ({ finished_at }) => finished_at !== null
      })
      assert.deepInclude(ended, { state: "succeeded", error: null })
      const told = yield* Effect.repeat(Effect.delay((yield* Nodes).list, "50 millis"), {
        until: (nodes) => nodes.filter(({ providers }) => providers.includes("alpha")).length === 2
      })
      assert.deepStrictEqual(
        told.map(({ name, providers }) => [name, providers]),
        [
          ["front", []],
          ["one", ["alpha"]],
          ["two", ["alpha"]]
        ]
      )
      const [entry] = yield* (yield* Providers).list
      assert.isTrue(entry?.installed)
    }).pipe(Effect.provide(front))
  })
)
