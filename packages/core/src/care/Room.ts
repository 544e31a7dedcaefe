import { oneByOne, onTopOf } from "../base/Layered.js"
import * as CareEnds from "./CareEnds.js"
import { CareStore } from "./CareStore.js"
import { Cares } from "./Cares.js"
import { deliverCareJob } from "./DeliverJob.js"
import { followJob } from "./FollowJob.js"
import * as operations from "./Operations.js"
import { prepareJob } from "./PrepareJob.js"
import { replyJob } from "./ReplyJob.js"

/** Turns for what merge requests need, until they are merged or a person goes on. */
export const care = {
  name: "care",
  layer: oneByOne(Cares.layer, CareEnds.layer).pipe(onTopOf(CareStore.layer)),
  operations,
  tables: ["attentions"],
  jobs: [prepareJob, deliverCareJob, followJob, replyJob]
} as const
