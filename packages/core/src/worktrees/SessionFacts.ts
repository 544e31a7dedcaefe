import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import type { LeaseState, SessionLifecycle, WorkspaceState } from "../sessions/rows/Session.js"
import type { Database } from "../store/Database.js"

/** The facts that tell which files belong to a session. */
export interface SessionFacts {
  readonly id: SessionId
  readonly lifecycle: SessionLifecycle
  readonly workspace_state: WorkspaceState
  readonly lease_state: LeaseState
  /** The native session that the agent has, or that its running turn has opened. */
  readonly native_session_id: string | null
}

/** All sessions of an installation, oldest first. */
export const sessionFacts = (db: Database["Type"]): Effect.Effect<ReadonlyArray<SessionFacts>> =>
  db.all(
    db.sql<SessionFacts>`select sessions.id, lifecycle, coalesce(working_trees.state, 'none') as workspace_state,
        coalesce(leases.state, 'none') as lease_state, coalesce(native_session_id, native_candidate) as native_session_id
      from sessions left join working_trees on working_trees.session_id = sessions.id
      left join leases on leases.session_id = sessions.id
      left join agent_states on agent_states.session_id = sessions.id order by sessions.id`
  )

/** The ids of the sessions that are closed now. */
export const closedSessions = (db: Database["Type"]): Effect.Effect<ReadonlySet<string>> =>
  Effect.map(
    db.all(db.sql<{ id: string }>`select id from sessions where lifecycle = 'closed'`),
    (rows) => new Set(rows.map(({ id }) => id))
  )
