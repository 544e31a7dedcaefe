import { deadlineJob } from "./DeadlineJob.js"
import { operationErrors } from "./Errors.js"
import { delegationEvents } from "./Events.js"
import { wakeJob } from "./WakeJob.js"

/** Sessions that work for sessions. */
export const delegations = {
  name: "delegations",
  tables: ["delegations", "delegation_results", "delegation_waits"],
  events: delegationEvents,
  errors: operationErrors,
  jobs: [deadlineJob, wakeJob]
} as const
