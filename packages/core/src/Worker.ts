import { removeBootDirectories } from "@reins/base/base/BootDirectory"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Executors } from "@reins/machine/executor/Executors"
import { endProcessesOf } from "@reins/machine/executor/Orphans"
import { SidePrograms } from "@reins/machine/executor/SidePrograms"
import { Effect, Layer } from "effect"
import * as Follower from "./events/Follower.js"
import * as Prewarming from "./execution/executor/Prewarming.js"
import * as Worker from "./jobs/Worker.js"
import { requireOversight } from "./Layers.js"
import { Nodes } from "./placement/Nodes.js"
import { followers, jobKinds, sweeps } from "./Rooms.js"
import * as Watchers from "./requests/looks/Watchers.js"
import { SearchScopes } from "./sessions/search/SearchScopes.js"
import * as DiskMeasure from "./upkeep/DiskMeasure.js"
import * as Housekeeping from "./upkeep/Housekeeping.js"
import * as IdleRelease from "./upkeep/IdleRelease.js"
import * as WorkRows from "./work/WorkRows.js"

/** Warns when agents run without the sandbox although nobody has asked for that. */
const warnOfNoSandbox = Layer.effectDiscard(
  Effect.gen(function* () {
    const { executors } = yield* CoreConfig
    const list = yield* (yield* Executors).list
    const sandbox = list.find(({ backend }) => backend === "bubblewrap")
    if (executors !== null || sandbox === undefined || sandbox.available) return
    yield* Effect.logWarning(
      `AGENTS RUN WITHOUT A SANDBOX: they can read and change whatever this user can. ${sandbox.note} Whoever agrees to that chooses the executor "local".`
    )
  })
)

/** A machine that is one of several says what it has before it works. One machine alone loads nothing of it. */
const thisNode = Layer.scopedDiscard(
  Effect.flatMap(Nodes, ({ self }) =>
    self === null
      ? Effect.void
      : Effect.flatMap(
          Effect.promise(() => import("./upkeep/ThisNode.js")),
          ({ begin }) => begin
        )
  )
)

/** The worker of jobs. It ends what ended boots have left: processes, what their executors have with services of the machine, and files. */
const jobs = Layer.unwrapEffect(
  Effect.map(Effect.all([Executors, SidePrograms]), ([{ sweep }, programs]) =>
    Worker.layer(
      Effect.map(Effect.all(jobKinds), (kinds) => kinds.filter((kind) => kind !== undefined)),
      (bootIds) =>
        Effect.all([endProcessesOf(bootIds), sweep(bootIds), programs.sweep(bootIds), removeBootDirectories(bootIds)], {
          discard: true
        })
    )
  )
).pipe(Layer.provide(thisNode))

/**
 * Runs the durable jobs and followers of the installation in this process, and deletes expired records. On SQLite one process works on a data directory. On
 * PostgreSQL several processes share the work, and each takes over the jobs that another one loses.
 */
export const worker = Layer.mergeAll(
  Layer.effectDiscard(requireOversight),
  jobs,
  Follower.layerOf(followers),
  Watchers.layer,
  SearchScopes.worker,
  WorkRows.catchingUp,
  Prewarming.layer,
  IdleRelease.layer,
  Housekeeping.layerOf(sweeps),
  DiskMeasure.layer,
  warnOfNoSandbox
)
