/** Versions of what sessions start from. */
export const projects = {
  name: "projects",
  tables: ["projects", "project_versions"]
} as const
