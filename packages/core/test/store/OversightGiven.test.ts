import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { Accounts } from "@reins/core/identity/Accounts"
import * as Cluster from "@reins/core/placement/cluster/Cluster"
import { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import { Oversight } from "@reins/core/store/Oversight"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Manifests } from "@reins/machine/harness/Manifests"
import { migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Layer } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"

const ground = Effect.map(temporaryDirectory, (dataDir) =>
  Layer.merge(
    Boot.layerSingle,
    CoreConfig.layer({ dataDir, keyFile: join(dataDir, "keyring.json"), executors: ["local"] })
  )
)

/** An oversight that notes the names of commands. */
const noting = () => {
  const names: Array<string> = []
  const note = ({ name }: { readonly name: string }) => Effect.sync(() => void names.push(name))
  return { names, layer: Layer.succeed(Oversight, { before: () => Effect.void, inCommit: note }) }
}

const command = (email: string) =>
  Effect.flatMap(Accounts, (accounts) => accounts.createVerified({ email, password: null }))

/** One machine on SQLite, and one of several on PostgreSQL. */
const machines = {
  "one machine": Effect.succeed({
    nodes: {},
    database: Layer.orDie(Layer.merge(Sqlite.layerMemory, Bell.layer)) as Layer.Layer<Database | Bell>
  }),
  "one of several": Effect.map(migratedPostgresDatabase, (url) => ({
    nodes: {
      nodes: Cluster.layer({
        name: "a",
        address: "http://a.test",
        role: "api",
        leases: Postgres.layerAsIs(url),
        renewMs: 200
      })
    },
    database: Layer.orDie(Postgres.layer(url, { isNode: true }))
  }))
}

for (const [machine, made] of Object.entries(machines))
  describe(`an oversight of the program on ${machine}`, () => {
    it.scopedLive("sees every command where it is given as such, with the database or around the core", () =>
      Effect.gen(function* () {
        const { database, nodes } = yield* made
        const around = yield* ground
        const given = noting()
        const ways = [
          Core.layerWith({ ...nodes, database, oversight: given.layer }),
          Core.layerWith({ ...nodes, database: Layer.merge(database, given.layer) }),
          Layer.provide(Core.layerWith({ ...nodes, database }), given.layer)
        ]
        for (const [index, way] of ways.entries()) {
          given.names.length = 0
          yield* Effect.provide(command(`somebody${index}@example.com`), Layer.provide(way, around))
          assert.deepStrictEqual(given.names, ["Accounts.createVerified"], String(index))
        }
      })
    )

    it.scopedLive(
      "is refused at the start where the commands would not ask it, and so is a part of no known name",
      () =>
        Effect.gen(function* () {
          const { database, nodes } = yield* made
          const around = yield* ground
          const given = noting()
          const beside = Core.worker.pipe(
            Layer.provide(Layer.merge(Core.layerWith({ ...nodes, database }), given.layer)),
            Layer.provide(around)
          )
          assert.strictEqual((yield* refusalOf(beside)).part, "oversight")
          const unknown = Layer.provide(Core.layerWith({ ...nodes, database, audit: given.layer }), around)
          const refusal = yield* refusalOf(unknown)
          assert.strictEqual(refusal.part, "audit")
          assert.include(refusal.message, "oversight")
          if (machine === "one machine") return
          const manifests = Layer.merge(Manifests.layer, given.layer)
          assert.strictEqual(
            (yield* refusalOf(Layer.provide(Core.layerWith({ ...nodes, database, manifests }), around))).part,
            "oversight"
          )
        })
    )
  })

const refusalOf = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.flatMap(Effect.flip(Effect.scoped(Layer.build(layer))), (error) =>
    error instanceof Core.PartUnused ? Effect.succeed(error) : Effect.die(error)
  )
