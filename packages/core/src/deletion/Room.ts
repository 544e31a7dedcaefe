import { Effect } from "effect"
import { oneByOne } from "../base/Layered.js"
import { accountDeletionJob } from "./AccountDeletionJob.js"
import { AccountDeletions } from "./AccountDeletions.js"
import { deletionJob } from "./DeletionJob.js"
import { Deletions } from "./Deletions.js"
import { fileSweep } from "./FileSweep.js"
import * as operations from "./Operations.js"
import { projectDeletionJob } from "./ProjectDeletionJob.js"
import { ProjectDeletions } from "./ProjectDeletions.js"
import { Retention } from "./Retention.js"
import { workspaceDeletionJob } from "./WorkspaceDeletionJob.js"
import { WorkspaceDeletions } from "./WorkspaceDeletions.js"

/** Sessions, projects, workspaces and accounts that go for good, and the receipts that remain. */
export const deletion = {
  name: "deletion",
  layer: oneByOne(
    AccountDeletions.layer,
    Deletions.layer,
    ProjectDeletions.layer,
    Retention.layer,
    WorkspaceDeletions.layer
  ),
  operations,
  jobs: [accountDeletionJob, deletionJob, projectDeletionJob, workspaceDeletionJob],
  sweeps: { files: fileSweep, "old sessions": Effect.map(Retention, ({ sweep }) => sweep) }
} as const
