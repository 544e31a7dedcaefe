import { deletionJob } from "./DeletionJob.js"
import { Deletions } from "./Deletions.js"

/** Sessions that go for good, and the receipts that remain. */
export const deletion = {
  name: "deletion",
  layer: Deletions.layer,
  jobs: [deletionJob]
} as const
