import { AttentionId, newId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import type { MergeRequest } from "../requests/rows/MergeRequest.js"
import type { AttentionRow, CareRow } from "./CareStore.js"

/** The columns in which new attentions differ. */
type Given = Pick<AttentionRow, "causes" | "fingerprint" | "head_sha"> &
  Partial<Pick<AttentionRow, "changeset_id" | "follows" | "proposes">>

/** An attention of a care that nothing was done for. */
export const newAttention = Effect.fnUntraced(function* (request: MergeRequest, row: CareRow, given: Given) {
  const at = yield* now
  const attention: AttentionRow = {
    id: yield* newId(AttentionId),
    merge_request_id: request.id,
    session_id: request.session_id,
    generation: row.generation,
    state: "preparing",
    proposes: 0,
    base_sha: null,
    head_tree: null,
    tree_before: null,
    message_id: null,
    turn_id: null,
    changeset_id: null,
    delivery_id: null,
    commit_sha: null,
    follows: null,
    reason: null,
    created_at: at,
    updated_at: at,
    ...given
  }
  return attention
})
