import { applyJob } from "./ApplyJob.js"
import { captureJob } from "./CaptureJob.js"
import { deliveryJob } from "./DeliveryJob.js"
import { changeEvents } from "./Events.js"
import { mergeJob } from "./MergeJob.js"
import { openMergeRequestJob } from "./OpenMergeRequestJob.js"
import { refreshJob } from "./RefreshJob.js"
import { layer } from "./Services.js"

/** Changesets, and the ways that they go: applications, deliveries and merge requests. */
export const changes = {
  name: "changes",
  layer,
  tables: ["changesets", "deliveries", "applications", "merge_requests"],
  events: changeEvents,
  jobs: [captureJob, applyJob, deliveryJob, refreshJob, openMergeRequestJob, mergeJob]
} as const
