import { deletionJob } from "./DeletionJob.js"
import { Deletions } from "./Deletions.js"
import { fileSweep } from "./FileSweep.js"
import * as operations from "./Operations.js"

/** Sessions that go for good, and the receipts that remain. */
export const deletion = {
  name: "deletion",
  layer: Deletions.layer,
  operations,
  jobs: [deletionJob],
  sweeps: { files: fileSweep }
} as const
