import { Effect } from "effect"
import type { Database } from "../store/Database.js"

/** True when every id belongs to a connection of the workspace, in any state. */
export const areInWorkspace = (
  db: Database["Type"],
  workspaceId: string,
  connectionIds: ReadonlyArray<string>
): Effect.Effect<boolean> => {
  const wanted = [...new Set(connectionIds)]
  if (wanted.length === 0) return Effect.succeed(true)
  return Effect.map(
    db.all(db.sql`select id from connections where workspace_id = ${workspaceId} and ${db.sql.in("id", wanted)}`),
    (found) => found.length === wanted.length
  )
}
