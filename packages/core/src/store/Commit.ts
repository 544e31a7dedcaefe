import { Context, type Effect } from "effect"
import type { SessionId, WorkspaceId } from "../domain/Ids.js"

/** A session that an open commit keeps other writers from, as it stands now. */
export interface HeldSession {
  readonly event_watermark: number
  readonly message_count: number
  readonly workspace_id: WorkspaceId
}

/**
 * An open commit. Effects that require it are written together, or not at all; `Journal.commit` opens one. No process, network or file call
 * belongs inside, because the transaction may run again and keeps others waiting.
 */
export class Commit extends Context.Tag("@reins/core/store/Commit")<
  Commit,
  {
    /** The topics that are rung once the commit is through. */
    readonly topics: Set<string>
    readonly held: Map<SessionId, HeldSession>
    /** The work that follows once the commit is through. */
    readonly afterwards: Array<Effect.Effect<void>>
  }
>() {}
