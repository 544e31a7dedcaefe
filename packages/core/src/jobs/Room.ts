import { oneByOne } from "@reins/base/base/Layered"
import { JobClaims } from "./JobClaims.js"
import { JobStore } from "./JobStore.js"
import { Jobs } from "./Jobs.js"
import * as operations from "./Operations.js"

/** Durable work and its attempts. */
export const jobs = {
  name: "jobs",
  layer: oneByOne(Jobs.layer, JobClaims.layer, JobStore.layer),
  operations,
  tables: ["jobs", "attempts"]
} as const
