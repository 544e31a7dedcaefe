import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Effect, Layer } from "effect"
import * as Core from "./Core.js"
import { Accounts } from "./identity/Accounts.js"
import { Workspaces } from "./identity/Workspaces.js"
import * as BootRecord from "./placement/BootRecord.js"
import { Bell } from "./store/Bell.js"
import * as Sqlite from "./store/Sqlite.js"

const ownerEmail = "owner@embedded.localhost"

/**
 * Reins inside a program: every service, working its jobs in this process, without HTTP and without a port. Fails with `DataDirectoryInUse`
 * while another process works on the directory. Closing the scope ends what runs.
 *
 *     Embedded.layer({ dataDir: "./reins-data" }, { executors: Executors.layerOf([myExecutor]) })
 *
 * `layers` are parts of one's own, as `Core.layerWith` takes them. The database is SQLite below `dataDir` unless one is given. Either way this
 * process has to be the only one that works on it: it takes over what the others were doing. Several processes on one PostgreSQL put
 * `Core.layerWith`, `Core.worker` and `BootRecord.layer` together themselves.
 */
export const layer = <const L extends Core.Layers = Record<never, never>>(
  config: Parameters<typeof CoreConfig.from>[0],
  layers?: L
) => {
  const { dataDir } = CoreConfig.from(config)
  // Boundary: without layers `L` is the type of none.
  const given = layers ?? ({} as L)
  const database = Layer.provideMerge(Sqlite.layer(dataDir), Bell.layer)
  return Core.worker.pipe(
    Layer.provideMerge(Core.layerWith({ database, ...given })),
    Layer.provideMerge(Layer.merge(CoreConfig.layer(config), BootRecord.layer(dataDir, { alone: true }))),
    Layer.provide(Sqlite.lockLayer(dataDir))
  )
}

/**
 * The account that the embedding program speaks for, made at the first call, and its workspace. The principal is what every service asks for:
 * it may do all that an owner may, and nobody can log in as it.
 */
export const owner: Effect.Effect<
  { readonly principal: Principal; readonly workspaceId: WorkspaceId },
  never,
  Accounts | Workspaces
> = Effect.gen(function* () {
  const accounts = yield* Accounts
  const workspaces = yield* Workspaces
  const account = yield* accounts.get(ownerEmail).pipe(
    Effect.orElse(() => accounts.createVerified({ email: ownerEmail, password: null })),
    Effect.orDie
  )
  const principal: Principal = {
    accountId: account.id,
    scopes: ["admin"],
    workspaceId: null,
    via: { kind: "embedded" }
  }
  const [workspace] = (yield* Effect.orDie(workspaces.list(principal, {}))).items
  return workspace === undefined
    ? yield* Effect.dieMessage("the owner has no workspace")
    : { principal, workspaceId: workspace.id }
})
