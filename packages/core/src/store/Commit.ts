import type { Actor, NewEvent } from "@reins/base/domain/Event"
import type { SessionId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect } from "effect"
import { accessTopic } from "./Bell.js"

/** A session that an open commit keeps other writers from, as it stands now. */
export interface HeldSession {
  readonly event_watermark: number
  readonly message_count: number
  readonly workspace_id: WorkspaceId
}

/** An event as the open commit has written it. */
export type WrittenEvent = NewEvent & {
  readonly session_id: SessionId
  readonly workspace_id: WorkspaceId
  readonly seq: number
  readonly actor: Actor
  readonly recorded_at: Timestamp
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
    /** The events that rooms hear of before the commit is through. */
    readonly heard: Array<WrittenEvent>
    /** The work that follows once the commit is through. */
    readonly afterwards: Array<Effect.Effect<void>>
  }
>() {}

/** Has everybody who holds something open for these accounts ask again for their rights, once the open commit is through. */
export const ringAccess = (...accountIds: ReadonlyArray<string>): Effect.Effect<void, never, Commit> =>
  Effect.map(Commit, ({ topics }) => {
    for (const id of accountIds) topics.add(accessTopic(id))
  })
