import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Effect } from "effect"
import { activationJob } from "./ActivationJob.js"
import { followRemoteJob } from "./FollowRemoteJob.js"
import * as operations from "./Operations.js"
import { releaseJob } from "./ReleaseJob.js"
import { layer } from "./Services.js"
import { turnJob } from "./TurnJob.js"

/** Loaded where there are snapshots. */
const sealJob = Effect.flatMap(CoreConfig, ({ blobs }) =>
  blobs === null
    ? Effect.succeed(undefined)
    : Effect.flatMap(
        Effect.promise(() => import("./SealJob.js")),
        ({ sealJob }) => sealJob
      )
)

/** Running a turn, and the executor of a session. */
export const execution = {
  name: "execution",
  layer,
  operations,
  jobs: [turnJob, activationJob, releaseJob, followRemoteJob, sealJob]
} as const
