import type { OwnedRows } from "../store/OwnedRows.js"

const ofProjects = (table: string): OwnedRows => ({
  table,
  of: (sql, id) => sql`project_id in (select id from projects where workspace_id = ${id})`
})

/** The projects of a workspace with their versions, pins and secrets. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  ofProjects("project_skills"),
  {
    table: "project_tool_pins",
    of: (sql, id) => sql`version_id in (select project_versions.id from project_versions
      join projects on projects.id = project_versions.project_id where projects.workspace_id = ${id})`
  },
  ofProjects("project_secrets"),
  ofProjects("project_versions"),
  { table: "projects", of: (sql, id) => sql`workspace_id = ${id}` }
]
