import { operationErrors } from "./Errors.js"

/** Durable work and its attempts. */
export const jobs = {
  name: "jobs",
  tables: ["jobs", "attempts"],
  errors: operationErrors
} as const
