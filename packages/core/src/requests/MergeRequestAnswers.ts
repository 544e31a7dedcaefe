import type { MergeRequestId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import { actorOf } from "../access/Access.js"
import type { OperationRef } from "../jobs/Job.js"
import { JobStore } from "../jobs/JobStore.js"
import type { SeenSession, SessionRow } from "../sessions/rows/SessionRow.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import type { MergeRequest } from "./rows/MergeRequest.js"
import { maxAttempts } from "./rows/MergeRequestJobs.js"
import { mergeRequestViews } from "./rows/MergeRequestRules.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"

/** Starts the jobs of merge requests, and answers the requests for them. */
export const makeAnswer = Effect.gen(function* () {
  const journal = yield* Journal
  const jobs = yield* JobStore
  const store = yield* MergeRequestStore
  const { toMergeRequestFor } = yield* mergeRequestViews
  const existing = existingOf("merge request", store.find)
  return {
    existing,
    answer: (principal: Principal, session: SeenSession) =>
      Effect.fnUntraced(function* (id: MergeRequestId, operation: OperationRef) {
        const request = toMergeRequestFor(principal, session)(yield* existing(id))
        const watermark = yield* journal.append(request.session_id, actorOf(principal), [])
        return { operation, merge_request: request, event_watermark: watermark }
      }),
    start: (kind: string, { id }: MergeRequest, session: SessionRow, payload: Readonly<Record<string, unknown>>) =>
      jobs.enqueue({
        kind,
        subject: { type: "merge_request", id },
        workspaceId: session.workspace_id,
        payload,
        maxAttempts
      })
  }
})
