import { captureJob } from "./CaptureJob.js"
import {
  applyJob,
  deliveryJob,
  mergeJob,
  openMergeRequestJob,
  readinessJob,
  requestReplyJob,
  rerunJob
} from "./LoadedJobs.js"
import * as operations from "./Operations.js"
import { refreshJob } from "./RefreshJob.js"
import { layer } from "./Services.js"
import { signingKeyRecords } from "./SigningKeyStore.js"

/** Changesets, and the ways that they go: applications, deliveries and merge requests. */
export const changes = {
  name: "changes",
  layer,
  operations,
  tables: [
    "changesets",
    "deliveries",
    "applications",
    "merge_requests",
    "request_checks",
    "request_reviews",
    "request_threads",
    "verdicts",
    "signing_keys"
  ],
  sealed: signingKeyRecords,
  jobs: [
    captureJob,
    applyJob,
    deliveryJob,
    refreshJob,
    openMergeRequestJob,
    mergeJob,
    rerunJob,
    readinessJob,
    requestReplyJob
  ]
} as const
