import { deadlineJob } from "./DeadlineJob.js"
import * as operations from "./Operations.js"
import { layer } from "./Services.js"
import { wakeJob } from "./WakeJob.js"

/** Sessions that work for sessions. */
export const delegations = {
  name: "delegations",
  layer,
  operations,
  tables: ["delegations", "delegation_results", "delegation_waits"],
  jobs: [deadlineJob, wakeJob]
} as const
