import type { MessageId, TurnId } from "@reins/base/domain/Ids"
import type { Attention } from "./Care.js"

/** An attention as it is read for people. */
export interface ShownAttention extends Omit<Attention, "causes" | "proposes" | "commit"> {
  /** JSON of the causes. */
  readonly causes: string
  readonly proposes: number
  readonly commit_sha: string | null
  readonly follows: number | null
  /** The turn whose work it delivers, and the message that began that; null for a turn of care. */
  readonly followed_id: TurnId | null
  readonly followed_message: MessageId | null
}

export const toAttention = (row: ShownAttention): Attention => ({
  id: row.id,
  merge_request_id: row.merge_request_id,
  head_sha: row.head_sha,
  state: row.state,
  // An earlier release reads the row too, and does not know this kind.
  causes: row.follows === 1 ? [{ kind: "turn", check_ids: [], comment_ids: [] }] : JSON.parse(row.causes),
  proposes: row.proposes === 1,
  base_sha: row.base_sha,
  message_id: row.message_id ?? row.followed_message,
  turn_id: row.turn_id ?? row.followed_id,
  changeset_id: row.changeset_id,
  delivery_id: row.delivery_id,
  commit: row.commit_sha,
  reply_url: row.reply_url,
  reason: row.reason,
  created_at: row.created_at,
  updated_at: row.updated_at
})
