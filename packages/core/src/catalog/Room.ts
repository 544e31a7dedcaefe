import { operationErrors } from "./Errors.js"
import { installJob } from "./InstallJob.js"

/** Providers, models, executors and limits, as clients may choose them. */
export const catalog = {
  name: "catalog",
  errors: operationErrors,
  jobs: [installJob]
} as const
