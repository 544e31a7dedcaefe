import { type Delivery, type Job, type MergeRequest, type Reins, ReinsApiError } from "@reins/client"
import { deliveredFields } from "./PersonTools.js"
import { sessionOf } from "./Subjects.js"
import type { DeliveryTask } from "./TaskId.js"
import { completed, type TaskState, working } from "./TaskState.js"
import { answer, type Caller, refusalOf } from "./Tool.js"

const ended: ReadonlySet<Job["state"]> = new Set(["succeeded", "failed", "cancelled"])

/** A task that follows a delivery to the end of its first job. A person may try it again later, which is another delivery of the work. */
export const stateOfDelivery = async ({ reins }: Caller, task: DeliveryTask): Promise<TaskState> => {
  const [delivery, job] = await Promise.all([
    reins.deliveries.get({ delivery_id: task.delivery }),
    reins.jobs.get({ job_id: task.job })
  ])
  const { reason_message, state, updated_at } = delivery
  if (!ended.has(job.state)) return working(`The delivery is ${state}.`, updated_at)
  if (state === "cancelled")
    return { status: "cancelled", statusMessage: reason_message ?? "The delivery was cancelled.", since: updated_at }
  const of = await sessionOf(reins, delivery.session_id)
  if (!task.request || state !== "succeeded") return completed(answer(deliveredFields(of, delivery)), updated_at)
  const request = await requestOf(reins, delivery)
  if ("status" in request) return request
  if (request.state === "pending") return working("The merge request is being opened.", updated_at)
  return completed(answer(deliveredFields(of, delivery, request)), updated_at)
}

/** The merge request of a delivery. It is opened with the first look after the push, and once however many look. */
const requestOf = async (reins: Reins, { id, updated_at }: Delivery): Promise<MergeRequest | TaskState> => {
  const [known] = (await reins.deliveries.listMergeRequests({ delivery_id: id, limit: 1 })).items
  if (known !== undefined) return known
  try {
    const key = { idempotencyKey: `mcp:task:${id}` }
    return (await reins.deliveries.openMergeRequest({ delivery_id: id }, key)).merge_request
  } catch (error) {
    if (error instanceof ReinsApiError && error.status === 403)
      return working("The branch is pushed. Its merge request needs a key that may write.", updated_at)
    return completed(refusalOf(error), updated_at)
  }
}

/** Stops a delivery that has not pushed yet. Gives the sentence that refuses it; undefined when it stops, or has ended. */
export const cancelDeliveryOf = async ({ reins }: Caller, task: DeliveryTask): Promise<string | undefined> => {
  const job = await reins.jobs.get({ job_id: task.job })
  if (!ended.has(job.state)) {
    await reins.deliveries.cancel({ delivery_id: task.delivery })
    return undefined
  }
  if (!task.request) return undefined
  const { state } = await reins.deliveries.get({ delivery_id: task.delivery })
  const [known] = (await reins.deliveries.listMergeRequests({ delivery_id: task.delivery, limit: 1 })).items
  const isOpening = state === "succeeded" && (known === undefined || known.state === "pending")
  return isOpening ? "The branch is pushed, so the delivery cannot be stopped any more." : undefined
}
