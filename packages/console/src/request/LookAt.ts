import { reins } from "../api/Server.js"

/** The time between two reads while a look goes on, in milliseconds, and the number of reads. */
const pollMs = 500
const reads = 140

/** Has the forge read, and waits until that look is over. */
export const lookAt = async (merge_request_id: string): Promise<void> => {
  const { asked_at, merge_request: before } = await reins.mergeRequests.look({ merge_request_id })
  for (let read = 0; read < reads; read++) {
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    const now = await reins.mergeRequests.get({ merge_request_id })
    const isRead = now.state !== "open" || (now.observed_at ?? "") >= asked_at
    // A look that failed is tried again later than the one that was asked for.
    if (isRead || (now.next_look_at ?? "") > (before.next_look_at ?? "")) return
  }
}
