import { keyOf, type Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { actorOf } from "../../access/Access.js"
import type { OperationRef } from "../../jobs/Job.js"
import { JobStore } from "../../jobs/JobStore.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { conditionRows } from "../rows/ConditionRows.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { mergeJobKind } from "../rows/MergeRequestJobs.js"
import { makeConditionMoves } from "./Advance.js"
import { makeUnmet } from "./FactReads.js"

/**
 * Gives the function that merges an open merge request if its conditions hold at the head of the last look. A merge that is on its way is given back.
 * The caller has to be allowed to merge, in the place of the account that has set the conditions.
 */
export const makeMergeByConditions = Effect.gen(function* () {
  const jobs = yield* JobStore
  const rows = yield* conditionRows
  const unmetNow = yield* makeUnmet
  const { begin } = yield* makeConditionMoves
  return Effect.fnUntraced(function* (principal: Principal, request: MergeRequest, session: SessionRow) {
    const row = yield* rows.hold(request.id)
    if (row === undefined) return yield* noConditions
    const live = { kind: mergeJobKind, subjectId: request.id, workspaceId: session.workspace_id }
    const last: OperationRef | undefined = yield* jobs.findLive(live)
    if (last !== undefined) return last
    const waiting_for = yield* unmetNow(request, session, row)
    if (waiting_for.length > 0 || request.head_sha === null) return yield* unmetConditions(waiting_for)
    const actsFor = { actsFor: principal.accountId, apiKeyId: keyOf(principal) }
    const shown = { ...row.shown, acts_for: principal.accountId }
    return yield* begin({ ...row, ...actsFor, shown }, { session, head: request.head_sha, by: actorOf(principal) })
  })
})

const noConditions = new ReinsError({
  code: "invalid_transition",
  message:
    "The merge request has no conditions. Set them with PUT /api/merge-requests/{merge_request_id}/merge-conditions, or name the commit to merge.",
  details: { resource: "merge request" }
})

const unmetConditions = (
  waiting_for: ReadonlyArray<{ readonly kind: string; readonly names: ReadonlyArray<string>; readonly message: string }>
) =>
  new ReinsError({
    code: "conditions_unmet",
    message: "Not all conditions of the merge hold. The merge request is merged by itself once they do.",
    details: { waiting_for }
  })
