import { activationJob } from "./executor/ActivationJob.js"
import { followRemoteJob } from "./executor/FollowRemoteJob.js"
import { releaseJob } from "./executor/ReleaseJob.js"
import * as operations from "./Operations.js"
import { layer } from "./Services.js"
import { turnJob } from "./turn/TurnJob.js"

/** Running a turn, and the executor of a session. */
export const execution = {
  name: "execution",
  layer,
  operations,
  jobs: [turnJob, activationJob, releaseJob, followRemoteJob]
} as const
