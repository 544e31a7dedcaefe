import { mergeJob, openMergeRequestJob, readinessJob, refreshJob, requestReplyJob, rerunJob } from "./LoadedJobs.js"
import * as operations from "./Operations.js"
import { layer } from "./Services.js"

/** Merge requests of delivered branches: as forges have them, what people decide of them, and their merge. */
export const requests = {
  name: "requests",
  layer,
  operations,
  tables: ["merge_requests", "request_checks", "request_reviews", "request_threads", "verdicts"],
  jobs: [refreshJob, openMergeRequestJob, mergeJob, rerunJob, readinessJob, requestReplyJob]
} as const
