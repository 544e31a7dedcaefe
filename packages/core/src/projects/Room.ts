import { operationErrors } from "./Errors.js"

/** Versions of what sessions start from. */
export const projects = {
  name: "projects",
  tables: ["projects", "project_versions"],
  errors: operationErrors
} as const
