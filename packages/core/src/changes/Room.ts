import { loadedJob } from "../jobs/LoadedWork.js"
import { applyJobKind } from "./Applications.js"
import { captureJob } from "./CaptureJob.js"
import * as operations from "./Operations.js"
import { layer } from "./Services.js"

const applyJob = loadedJob(
  {
    kind: applyJobKind,
    concurrency: 4,
    deadlineMs: 10 * 60_000
  },
  () => import("./ApplyJob.js").then(({ applyWork }) => applyWork)
)

/** Changesets, and their applications to sessions. */
export const changes = {
  name: "changes",
  layer,
  operations,
  tables: ["changesets", "applications"],
  jobs: [captureJob, applyJob]
} as const
