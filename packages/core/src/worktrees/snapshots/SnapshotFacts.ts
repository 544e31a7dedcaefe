import type { SessionId, SnapshotId, TurnId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import type { Effect } from "effect"
import { isLive } from "../../sessions/rows/TurnConditions.js"
import type { Database } from "../../store/Database.js"
import type { SessionFacts } from "../SessionFacts.js"

/** The part of a session's files that the store of blobs has. */
export interface SealFacts extends Pick<SessionFacts, "lifecycle" | "workspace_state"> {
  readonly session_id: SessionId
  /** The newest snapshot; null without one. */
  readonly snapshot_id: SnapshotId | null
  /** The time of the oldest change that the snapshot lacks; null when it has all. */
  readonly unsealed_since: Timestamp | null
  /** Why the last attempt to seal it did not succeed; null when none has failed. */
  readonly error: string | null
  /** The turn that runs or is about to; null without one. */
  readonly active_turn_id: TurnId | null
}

/** The facts of all sessions, or of one, oldest first. */
export const sealFacts = ({ all, sql }: Database["Type"], id?: SessionId): Effect.Effect<ReadonlyArray<SealFacts>> =>
  all(sql<SealFacts>`select sessions.id as session_id, lifecycle,
      coalesce(working_trees.state, 'none') as workspace_state, live.id as active_turn_id,
      (select max(snapshots.id) from snapshots where snapshots.session_id = sessions.id) as snapshot_id,
      unsealed_sessions.since as unsealed_since, unsealed_sessions.error as error
    from sessions left join working_trees on working_trees.session_id = sessions.id
    left join unsealed_sessions on unsealed_sessions.session_id = sessions.id
    left join turns as live on live.session_id = sessions.id and ${sql.literal(isLive("live"))}
    ${id === undefined ? sql`` : sql`where sessions.id = ${id}`} order by sessions.id`)

/** The digests of the blobs that snapshots, uploads and changesets need, each with a session that needs it. */
export const neededBlobs = ({ all, sql }: Database["Type"]) =>
  all(sql<{ digest: string; session_id: SessionId }>`select digest, min(session_id) as session_id from (
      select digest, session_id from snapshot_parts join snapshots on snapshots.id = snapshot_parts.snapshot_id
      union all select digest, session_id from unsealed_uploads
      union all select digest, session_id from unsealed_changesets
    ) needed group by digest order by digest`)
