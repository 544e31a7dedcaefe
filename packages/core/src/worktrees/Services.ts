import { CoreConfig } from "@reins/base/base/CoreConfig"
import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Effect, Layer } from "effect"
import { AgentStateStore } from "./AgentStateStore.js"
import { Leases } from "./Leases.js"
import { Repositories } from "./Repositories.js"
import { SessionFiles } from "./SessionFiles.js"
import { Snapshots } from "./snapshots/Snapshots.js"
import { WorkingTreeStore } from "./WorkingTreeStore.js"
import { WorkingTrees } from "./WorkingTrees.js"

/** The maker of snapshots is loaded where the configuration names a store of blobs. */
const snapshots = Layer.unwrapEffect(
  Effect.flatMap(CoreConfig, ({ blobs }) =>
    blobs === null
      ? Effect.succeed(Snapshots.layerNone)
      : Effect.map(
          Effect.promise(() => import("./snapshots/KeptSnapshots.js")),
          ({ layer }) => layer
        )
  )
)

/** The services of this room. */
export const layer = oneByOne(SessionFiles.layer, Repositories.layer).pipe(
  onTopOf(WorkingTrees.layer),
  onTopOf(snapshots),
  onTopOf(Leases.layer),
  onTopOf(oneByOne(WorkingTreeStore.layer, AgentStateStore.layer))
)
