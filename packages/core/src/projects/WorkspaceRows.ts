import type { OwnedRows } from "../store/OwnedRows.js"

const ofProjects = (table: string): OwnedRows => ({
  table,
  of: (sql, id) => sql`project_id in (select id from projects where workspace_id = ${id})`
})

/** The projects of a workspace with their versions and secrets. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  ofProjects("project_skills"),
  ofProjects("project_secrets"),
  ofProjects("project_versions"),
  { table: "projects", of: (sql, id) => sql`workspace_id = ${id}` }
]
