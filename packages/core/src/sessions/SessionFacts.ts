import { Effect } from "effect"
import type { Database } from "../store/Database.js"
import type { SessionRow } from "./SessionRow.js"

/** The columns of a session that tell which files belong to it. Every release has them. */
export type SessionFacts = Pick<
  SessionRow,
  "id" | "lease_state" | "lifecycle" | "native_session_id" | "workspace_state"
>

/** All sessions of an installation, oldest first. */
export const sessionFacts = (db: Database["Type"]): Effect.Effect<ReadonlyArray<SessionFacts>> =>
  db.all(
    db.sql<SessionFacts>`select id, lifecycle, workspace_state, lease_state,
        coalesce(native_session_id, native_candidate) as native_session_id from sessions order by id`
  )

/** The ids of the sessions that are closed now. */
export const closedSessions = (db: Database["Type"]): Effect.Effect<ReadonlySet<string>> =>
  Effect.map(
    db.all(db.sql<{ id: string }>`select id from sessions where lifecycle = 'closed'`),
    (rows) => new Set(rows.map(({ id }) => id))
  )
