import { loadedJob } from "../jobs/LoadedWork.js"
import { deliveryJobKind } from "./DeliveryAnswers.js"

export const deliveryJob = loadedJob(
  {
    kind: deliveryJobKind,
    concurrency: 4,
    // Longer than the time limits of all its git processes together, so that no push is broken off in the middle.
    deadlineMs: 60 * 60_000
  },
  () => import("./work/DeliveryJob.js").then(({ deliveryWork }) => deliveryWork)
)
