import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { release } from "@reins/base/base/Release"
import * as Cluster from "@reins/core/placement/cluster/Cluster"
import * as NodeLease from "@reins/core/placement/cluster/NodeLease"
import { Nodes } from "@reins/core/placement/Nodes"
import { agree } from "@reins/core/store/Agreements"
import { Database } from "@reins/core/store/Database"
import * as Postgres from "@reins/core/store/Postgres"
import { migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { Context, Effect, Exit, Layer, Logger, LogLevel, type Redacted, Schedule, Scope } from "effect"

const times = { ttlMs: 1500, renewMs: 400, marginMs: 500 }

/** A database whose statements are not answered while it is out of reach, as behind a broken network. */
const reachable = (url: Redacted.Redacted) => {
  const network = { isCut: false }
  const through = <A>(statement: Effect.Effect<A>) => Effect.suspend(() => (network.isCut ? Effect.never : statement))
  const layer = Layer.map(Postgres.layerAsIs(url), (context) => {
    const db = Context.get(context, Database)
    const all: typeof db.all = (query) => through(db.all(query))
    const first: typeof db.first = (query) => through(db.first(query))
    const run: typeof db.run = (query) => through(db.run(query))
    return Context.add(context, Database, Database.of({ ...db, all, first, run }))
  })
  return { network, layer }
}

/** A process that holds a node until its scope closes. */
const node = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
  name: string,
  dataDir: string,
  leases: Layer.Layer<Database, { readonly message: string }> = Postgres.layerAsIs(url)
) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (open) => Scope.close(open, Exit.void))
  const cluster = Cluster.layer({ name, address: `http://${name}.test`, role: "all", leases, ...times }).pipe(
    Layer.provide(Layer.mergeAll(Postgres.layer(url), Boot.layerSingle, CoreConfig.layer({ dataDir }))),
    Layer.provide(Logger.minimumLogLevel(LogLevel.None))
  )
  const nodes = Context.get(yield* Scope.extend(Layer.build(cluster), scope), Nodes)
  return { nodes, scope, stop: Scope.close(scope, Exit.void) }
})

const given = Effect.gen(function* () {
  const url = yield* migratedPostgresDatabase
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-nodes-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  return { url, disk: (name: string) => join(directory, name) }
})

it.scopedLive("nodes find each other, and one that ends in order is gone at once", () =>
  Effect.gen(function* () {
    const { disk, url } = yield* given
    const a = yield* node(url, "a", disk("a"))
    const b = yield* node(url, "b", disk("b"))
    assert.deepStrictEqual(yield* a.nodes.locate("a"), { kind: "self" })
    assert.deepInclude(yield* a.nodes.locate("b"), { kind: "at", address: "http://b.test" })
    assert.deepStrictEqual(
      (yield* b.nodes.list).map(({ epoch, name, state }) => [name, state, epoch]),
      [
        ["a", "active", 1],
        ["b", "active", 1]
      ]
    )
    yield* b.stop
    assert.deepInclude(
      (yield* a.nodes.list).find(({ name }) => name === "b"),
      { state: "gone" }
    )
    // The next process need not wait for a lease that was given back.
    const again = yield* node(url, "b", disk("b"))
    assert.deepInclude(
      (yield* again.nodes.list).find(({ name }) => name === "b"),
      { state: "active", epoch: 2 }
    )
  })
)

it.scopedLive(
  "a process of a release that the schema does not fit any more gets no node, also when it has had one",
  () =>
    Effect.gen(function* () {
      const { disk, url } = yield* given
      const a = yield* node(url, "a", disk("a"))
      assert.deepInclude((yield* a.nodes.list)[0], { release })
      const db = Context.get(yield* Layer.build(Postgres.layerAsIs(url)), Database)
      yield* agree(db, "min_release", "9.8.7")
      yield* db.run(db.sql`update nodes set expires_at = 0 where name = 'a'`)
      yield* Effect.repeat(
        Effect.sync(() => a.nodes.holds()),
        { until: (holds) => !holds, schedule: Schedule.spaced("50 millis") }
      )
      const lease = NodeLease.make(db, times)
      const applicant = { name: "b", bootId: "b", diskId: "b", address: "http://b.test", role: "all", release } as const
      assert.deepStrictEqual(yield* lease.take(applicant, []), { kind: "too_old", needs: "9.8.7" })
      assert.isTrue(NodeLease.isHolder(yield* lease.take({ ...applicant, release: "9.8.7-next.1" }, [])))
      assert.isFalse(a.nodes.holds())
    })
)

it.scopedLive(
  "a node that cannot renew its lease ends its work before another process may begin, and has it again",
  () =>
    Effect.gen(function* () {
      const { disk, url } = yield* given
      const { layer, network } = reachable(url)
      const first = yield* node(url, "a", disk("a"), layer)
      const told: Array<string> = []
      const ended = first.nodes.onLost(Effect.sync(() => void told.push("ended")))
      yield* Scope.extend(ended, first.scope)
      assert.isTrue(first.nodes.holds())
      network.isCut = true
      // It begins to wait for the lease while the other one still has it.
      const second = yield* node(url, "a", disk("a"))
      told.push("begun")
      assert.deepStrictEqual(told, ["ended", "begun"])
      assert.deepStrictEqual([first.nodes.holds(), second.nodes.holds()], [false, true])
      network.isCut = false
      yield* second.stop
      yield* Effect.repeat(
        Effect.sync(() => first.nodes.holds()),
        { until: (holds) => holds, schedule: Schedule.spaced("50 millis") }
      )
      assert.deepInclude((yield* first.nodes.list)[0], { state: "active", epoch: 3 })
      assert.deepStrictEqual(told, ["ended", "begun"])
    })
)

it.scopedLive("a process is refused a node that another one keeps", () =>
  Effect.gen(function* () {
    const { disk, url } = yield* given
    yield* node(url, "a", disk("a"))
    const refused = yield* Effect.flip(node(url, "a", disk("other")))
    assert.match(refused.message, /^The node a is held by a process that lives at http:\/\/a\.test/)
  })
)
