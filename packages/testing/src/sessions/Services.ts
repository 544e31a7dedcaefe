import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { Connections } from "@reins/core/connections/Connections"
import * as Embedded from "@reins/core/Embedded"
import { PasswordCost } from "@reins/core/identity/Passwords"
import type { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import { Effect, Layer } from "effect"

/** Every service on a database without a worker, so queued jobs stay queued. */
export const services = (database: Layer.Layer<Database | Bell>, config: Partial<CoreConfig["Type"]> = {}) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const dataDir = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-test-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      )
      return Core.layer.pipe(
        Layer.provideMerge(
          Layer.mergeAll(
            CoreConfig.layer({ dataDir, agentIdleMs: 0, executors: ["local"], ...config }),
            database,
            Boot.layerSingle
          )
        ),
        Layer.provide(PasswordCost.layerTest)
      )
    })
  )

/** The owner of a workspace, and a connection for alpha, which chooses the model of its sessions. */
export const ownerWithConnection = Effect.gen(function* () {
  const { principal, workspaceId } = yield* Embedded.owner
  const connections = yield* Connections
  const { id } = yield* connections.create(principal, workspaceId, {
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: "http://127.0.0.1:9/v1", api_key: "k".repeat(32) }
  })
  const connection = yield* connections.update(principal, id, { preferred_model: "scripted-1" })
  return { principal, workspaceId, connection }
})
