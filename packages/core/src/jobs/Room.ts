/** Durable work and its attempts. */
export const jobs = {
  name: "jobs",
  tables: ["jobs", "attempts"]
} as const
