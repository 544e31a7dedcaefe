import { loadedJob } from "../jobs/LoadedWork.js"
import { deliverCareKind } from "./CareEnds.js"
import { prepareJobKind } from "./Deciding.js"
import { followJobKind } from "./EveryTurn.js"
import { replyJobKind } from "./Posting.js"

// The kinds of jobs whose programs are loaded with their first one.

export const prepareJob = loadedJob(
  {
    kind: prepareJobKind,
    concurrency: 4,
    deadlineMs: 20 * 60_000,
    beginsWork: true
  },
  () => import("./PrepareJob.js").then(({ prepareWork }) => prepareWork)
)

export const deliverCareJob = loadedJob(
  {
    kind: deliverCareKind,
    concurrency: 4,
    deadlineMs: 10 * 60_000
  },
  () => import("./DeliverJob.js").then(({ deliverCareWork }) => deliverCareWork)
)

export const followJob = loadedJob(
  {
    kind: followJobKind,
    concurrency: 4,
    deadlineMs: 20 * 60_000
  },
  () => import("./FollowJob.js").then(({ followWork }) => followWork)
)

export const replyJob = loadedJob(
  {
    kind: replyJobKind,
    concurrency: 4,
    deadlineMs: 5 * 60_000
  },
  () => import("./ReplyJob.js").then(({ replyWork }) => replyWork)
)
