import { oneByOne } from "@reins/base/base/Layered"
import { Effect } from "effect"
import { accountDeletionJob } from "./AccountDeletionJob.js"
import { AccountDeletions } from "./AccountDeletions.js"
import { deletionJob } from "./DeletionJob.js"
import { Deletions } from "./Deletions.js"
import { fileSweep } from "./FileSweep.js"
import * as operations from "./Operations.js"
import { projectDeletionJob } from "./ProjectDeletionJob.js"
import { ProjectDeletions } from "./ProjectDeletions.js"
import { Retention } from "./Retention.js"
import { wordsForgottenJob } from "./WordsForgottenJob.js"
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
  jobs: [accountDeletionJob, deletionJob, projectDeletionJob, wordsForgottenJob, workspaceDeletionJob],
  sweeps: { files: fileSweep, "old sessions": Effect.map(Retention, ({ sweep }) => sweep) }
} as const
