import { applyJob } from "./ApplyJob.js"
import { captureJob } from "./CaptureJob.js"
import { deliveryJob } from "./DeliveryJob.js"
import { mergeJob } from "./MergeJob.js"
import { openMergeRequestJob } from "./OpenMergeRequestJob.js"
import * as operations from "./Operations.js"
import { readinessJob } from "./ReadinessJob.js"
import { refreshJob } from "./RefreshJob.js"
import { requestReplyJob } from "./RequestReplyJob.js"
import { rerunJob } from "./RerunJob.js"
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
