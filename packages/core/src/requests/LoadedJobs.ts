import { refreshJobKind } from "../deliveries/DeliveryAnswers.js"
import { loadedJob } from "../jobs/LoadedWork.js"
import {
  mergeJobKind,
  openJobKind,
  readinessJobKind,
  replyRequestJobKind,
  rerunJobKind
} from "./rows/MergeRequestJobs.js"

// The kinds of jobs whose programs are loaded with their first one.

export const refreshJob = loadedJob(
  {
    kind: refreshJobKind,
    concurrency: 4,
    deadlineMs: 15 * 60_000
  },
  () => import("./RefreshJob.js").then(({ refreshWork }) => refreshWork)
)

export const mergeJob = loadedJob(
  {
    kind: mergeJobKind,
    concurrency: 4,
    deadlineMs: 5 * 60_000
  },
  () => import("./MergeJob.js").then(({ mergeWork }) => mergeWork)
)

export const readinessJob = loadedJob(
  {
    kind: readinessJobKind,
    concurrency: 4,
    deadlineMs: 5 * 60_000
  },
  () => import("./ReadinessJob.js").then(({ readinessWork }) => readinessWork)
)

export const rerunJob = loadedJob(
  {
    kind: rerunJobKind,
    concurrency: 4,
    deadlineMs: 5 * 60_000
  },
  () => import("./RerunJob.js").then(({ rerunWork }) => rerunWork)
)

export const requestReplyJob = loadedJob(
  {
    kind: replyRequestJobKind,
    concurrency: 4,
    deadlineMs: 5 * 60_000
  },
  () => import("./RequestReplyJob.js").then(({ requestReplyWork }) => requestReplyWork)
)

export const openMergeRequestJob = loadedJob(
  {
    kind: openJobKind,
    concurrency: 4,
    deadlineMs: 5 * 60_000
  },
  () => import("./OpenMergeRequestJob.js").then(({ openMergeRequestWork }) => openMergeRequestWork)
)
