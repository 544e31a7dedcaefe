import { rmSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { PasswordCost } from "@reins/core/identity/Passwords"
import * as Cluster from "@reins/core/placement/cluster/Cluster"
import { Placements } from "@reins/core/placement/Placements"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { existingOf } from "@reins/core/store/Existing"
import { Journal } from "@reins/core/store/Journal"
import * as Postgres from "@reins/core/store/Postgres"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { bareRemote } from "@reins/testing/git/Fixture"
import { ownerWithConnection } from "@reins/testing/sessions/Services"
import { migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Layer, Logger, LogLevel, type Redacted } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"

/** A node without a worker, so that nothing is sealed. The disks of lost nodes do not come back. */
const node = (url: Redacted.Redacted, directory: string, name: string) => {
  const nodes = Cluster.layer({
    name,
    address: `http://${name}.test`,
    role: "all",
    leases: Postgres.layerAsIs(url),
    reclaimMs: 0
  })
  const config = CoreConfig.layer({
    dataDir: join(directory, name),
    keyFile: join(directory, "keyring.json"),
    executors: ["local"],
    allowLocalRepositories: true,
    blobs: { kind: "postgres" },
    prewarm: false
  })
  return Core.layerWith({ nodes }).pipe(
    Layer.provide(Layer.mergeAll(Postgres.layer(url, { isNode: true }), Boot.layerSingle, config)),
    Layer.provide([Logger.minimumLogLevel(LogLevel.Error), PasswordCost.layerTest])
  )
}

it.scopedLive(
  "a session that was never sealed begins anew from its repository, with every upload that was acknowledged",
  () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const url = yield* migratedPostgresDatabase
      const { id, principal } = yield* Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const repository = { url: bareRemote(directory, { "a.txt": "a\n" }) }
        const { id } = yield* (yield* Sessions).create(principal, workspaceId, { repository })
        yield* (yield* Journal).commit((yield* Placements).place(id, "one"))
        yield* (yield* SessionFiles).upload(principal, id, {
          path: "notes/given.txt",
          content: "given\n",
          mode: "0600"
        })
        assert.isFalse(yield* (yield* Snapshots).exists(id))
        // Its first turn runs, and its agent has answered.
        const { run, sql } = yield* Database
        yield* run(sql`insert into agent_states (session_id, native_session_id, native_candidate)
          values (${id}, 'lost', 'lost')`)
        return { id, principal }
      }).pipe(Effect.provide(node(url, directory, "one")))
      rmSync(join(directory, "one"), { recursive: true })

      yield* Effect.gen(function* () {
        const placed = yield* (yield* Placements).settle(id)
        assert.deepInclude(placed, { kind: "here", awaited: true })
        const files = yield* SessionFiles
        for (const [path, content] of [
          ["notes/given.txt", "given\n"],
          ["a.txt", "a\n"]
        ] as const)
          assert.strictEqual((yield* files.read(principal, id, path)).content, content)
        const { agent } = yield* existingOf("session", (yield* SessionStore).find)(id)
        assert.deepInclude(agent, { native_session_id: null, native_candidate: null })
      }).pipe(Effect.provide(node(url, directory, "two")))
    })
)
