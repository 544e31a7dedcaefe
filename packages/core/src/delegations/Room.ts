import { deadlineJob } from "./DeadlineJob.js"
import { delegationEvents } from "./Events.js"
import { layer } from "./Services.js"
import { wakeJob } from "./WakeJob.js"

/** Sessions that work for sessions. */
export const delegations = {
  name: "delegations",
  layer,
  tables: ["delegations", "delegation_results", "delegation_waits"],
  events: delegationEvents,
  jobs: [deadlineJob, wakeJob]
} as const
