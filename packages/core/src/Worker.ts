import { Effect, Layer } from "effect"
import { CoreConfig } from "./base/CoreConfig.js"
import { installJob } from "./catalog/InstallJob.js"
import { applyJob } from "./changes/ApplyJob.js"
import { captureJob } from "./changes/CaptureJob.js"
import { deliveryJob } from "./changes/DeliveryJob.js"
import { mergeJob } from "./changes/MergeJob.js"
import { openMergeRequestJob } from "./changes/OpenMergeRequestJob.js"
import { refreshJob } from "./changes/RefreshJob.js"
import { validationJob } from "./connections/ValidationJob.js"
import { deadlineJob } from "./delegations/DeadlineJob.js"
import { wakeJob } from "./delegations/WakeJob.js"
import { workspaceEventTypes } from "./Events.js"
import { activationJob } from "./execution/ActivationJob.js"
import { followRemoteJob } from "./execution/FollowRemoteJob.js"
import * as Prewarming from "./execution/Prewarming.js"
import { releaseJob } from "./execution/ReleaseJob.js"
import { turnJob } from "./execution/TurnRunner.js"
import { Executors } from "./executor/Executors.js"
import { endProcessesOf } from "./executor/Orphans.js"
import * as MailJob from "./identity/MailJob.js"
import * as Worker from "./jobs/Worker.js"
import { Nodes } from "./placement/Nodes.js"
import * as DiskMeasure from "./upkeep/DiskMeasure.js"
import * as Housekeeping from "./upkeep/Housekeeping.js"
import * as IdleRelease from "./upkeep/IdleRelease.js"
import * as Couriers from "./webhooks/Couriers.js"

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

/** Loaded where there are snapshots. */
const sealing = Effect.promise(() => import("./execution/SealJob.js"))

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

/** The worker of jobs. It ends what ended boots have left: processes, and what their executors have with services of the machine. */
const jobs = Layer.unwrapEffect(
  Effect.map(Executors, ({ sweep }) =>
    Worker.layer(
      Effect.gen(function* () {
        const config = yield* CoreConfig
        return [
          yield* turnJob,
          yield* validationJob,
          yield* installJob,
          yield* activationJob,
          yield* releaseJob,
          yield* followRemoteJob,
          yield* captureJob,
          yield* applyJob,
          yield* deliveryJob,
          yield* refreshJob,
          yield* openMergeRequestJob,
          yield* mergeJob,
          yield* deadlineJob,
          yield* wakeJob,
          yield* MailJob.make({ publicUrl: config.publicUrl }),
          ...(config.blobs === null ? [] : [yield* Effect.flatMap(sealing, ({ sealJob }) => sealJob)])
        ]
      }),
      (bootIds) => Effect.zipRight(endProcessesOf(bootIds), sweep(bootIds))
    )
  )
).pipe(Layer.provide(thisNode))

/**
 * Runs the durable jobs of the installation in this process, and deletes expired records. On SQLite one process works on a data directory. On
 * PostgreSQL several processes share the work, and each takes over the jobs that another one loses.
 */
export const worker = Layer.mergeAll(
  jobs,
  Couriers.layerOf(workspaceEventTypes),
  Prewarming.layer,
  IdleRelease.layer,
  Housekeeping.layer,
  DiskMeasure.layer,
  warnOfNoSandbox
)
