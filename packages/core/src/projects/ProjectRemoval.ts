import type { ProjectId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { OwnedRows } from "../store/OwnedRows.js"

const ofProject = (table: string): OwnedRows => ({ table, of: (sql, id) => sql`project_id = ${id}` })

/** The skills, the secrets, the pins and the versions of a project. Sessions name versions, so they go of them before. */
export const projectRows: ReadonlyArray<OwnedRows> = [
  ofProject("project_skills"),
  ofProject("project_secrets"),
  {
    table: "project_tool_pins",
    of: (sql, id) => sql`version_id in (select id from project_versions where project_id = ${id})`
  },
  ofProject("project_versions")
]

/** The ways in which a project goes for good. */
export const projectRemoval = Effect.map(Database, ({ run, sql }) => ({
  /** Takes a project from everybody's sight, and empties it. Its slug is free. The commit holds the project. */
  hide: Effect.fnUntraced(function* (id: ProjectId): Effect.fn.Return<void, never, Commit> {
    yield* run(sql`update projects set ${sql.update({ deleting_at: yield* now, slug: id, name: "", description: null })}
      where id = ${id}`)
  }),

  /** Deletes the project itself, of which nothing else is left. */
  remove: (id: string): Effect.Effect<void, never, Commit> =>
    Effect.zipRight(Commit, run(sql`delete from projects where id = ${id}`))
}))
