import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import * as CareEnds from "./CareEnds.js"
import { CareStore } from "./CareStore.js"
import { Cares } from "./Cares.js"
import { deliverCareJob, followJob, prepareJob, replyJob } from "./LoadedJobs.js"
import * as operations from "./Operations.js"

/** Turns for what merge requests need, until they are merged or a person goes on. */
export const care = {
  name: "care",
  layer: oneByOne(Cares.layer, CareEnds.layer).pipe(onTopOf(CareStore.layer)),
  operations,
  tables: ["attentions"],
  jobs: [prepareJob, deliverCareJob, followJob, replyJob]
} as const
