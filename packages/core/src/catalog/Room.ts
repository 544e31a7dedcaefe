import { installJob } from "./InstallJob.js"

/** Providers, models, executors and limits, as clients may choose them. */
export const catalog = {
  name: "catalog",
  jobs: [installJob]
} as const
