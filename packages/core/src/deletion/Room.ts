import { deletionJob } from "./DeletionJob.js"

/** Sessions that go for good, and the receipts that remain. */
export const deletion = {
  name: "deletion",
  jobs: [deletionJob]
} as const
