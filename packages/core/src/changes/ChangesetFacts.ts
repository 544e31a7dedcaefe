import { Effect } from "effect"
import type { Database } from "../store/Database.js"

/** The sessions whose changesets stand in their git directories, also after they were closed. Every release has these columns. */
export const sessionsWithChanges = (db: Database["Type"]): Effect.Effect<ReadonlySet<string>> =>
  Effect.map(
    db.all(db.sql<{ session_id: string }>`select distinct session_id from changesets where tree is not null`),
    (rows) => new Set(rows.map((row) => row.session_id))
  )
