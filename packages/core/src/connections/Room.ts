import { validationJob } from "./ValidationJob.js"

/** Credentials, their validation, and the relays through which agents use them. */
export const connections = {
  name: "connections",
  tables: ["connections", "credentials", "connection_validations"],
  jobs: [validationJob]
} as const
