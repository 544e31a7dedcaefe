import { oneByOne } from "../base/Layered.js"
import { deletionJob } from "./DeletionJob.js"
import { Deletions } from "./Deletions.js"
import { fileSweep } from "./FileSweep.js"
import * as operations from "./Operations.js"
import { projectDeletionJob } from "./ProjectDeletionJob.js"
import { ProjectDeletions } from "./ProjectDeletions.js"

/** Sessions and projects that go for good, and the receipts that remain. */
export const deletion = {
  name: "deletion",
  layer: oneByOne(Deletions.layer, ProjectDeletions.layer),
  operations,
  jobs: [deletionJob, projectDeletionJob],
  sweeps: { files: fileSweep }
} as const
