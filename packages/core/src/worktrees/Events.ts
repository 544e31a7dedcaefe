import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { LeaseId, SnapshotId, TurnId } from "@reins/base/domain/Ids"
import { RepositoryFilter } from "@reins/base/domain/RepositoryFilter"
import { SetupPayload, SetupStepPayload } from "@reins/machine/bench/setup/SetupReport"
import { Schema } from "effect"

const ExecutorPayload = Schema.Struct({
  lease_id: field(LeaseId, "The lease that began, moved or ended."),
  backend: field(Schema.String, "The executor backend."),
  reason: field(
    Schema.NullOr(Schema.String),
    "Why it was released or lost, in a word or a sentence; null when there is nothing to tell."
  )
}).annotations({ identifier: "ExecutorPayload", description: "A lease of the executor that began, moved or ended." })

const WorkspacePayload = Schema.Struct({
  base_commit: field(
    Schema.NullOr(Schema.String),
    "The commit that the workspace started from; null for an empty start."
  ),
  path: field(Schema.NullOr(Schema.String), "The file that was written; null for the whole workspace.")
}).annotations({ identifier: "WorkspacePayload", description: "Files of the workspace that were made or written." })

const RestoredPayload = Schema.Struct({
  ...WorkspacePayload.fields,
  filters: field(
    Schema.NullOr(Schema.Array(RepositoryFilter)),
    "The filters that the attributes of the base commit name, those of most files first, at most 20. Null when nobody has looked, as after a move to another machine."
  ),
  snapshot_id: field(
    Schema.NullOr(SnapshotId),
    "The snapshot that the workspace was made from, on another machine or after a loss; null when it was made from its repository, or empty."
  ),
  lost_turn: field(
    Schema.NullOr(TurnId),
    "The newest turn whose work on files was lost with its machine; null when nothing was."
  )
}).annotations({ identifier: "RestoredPayload", description: "A workspace that was made." })

/** The events of the executor and the files of a session. */
export const worktreeEvents = eventKinds({
  "executor.allocating": { payload: ExecutorPayload, text: "An executor is being allocated to the session." },
  "executor.ready": { payload: ExecutorPayload, text: "The executor of the session can run the agent." },
  "executor.quiescing": { payload: ExecutorPayload, text: "The executor is being released." },
  "executor.released": { payload: ExecutorPayload, text: "The executor was released. The workspace stays." },
  "executor.lost": { payload: ExecutorPayload, text: "The executor ended without a release." },
  "setup.started": { payload: SetupPayload, text: "The commands that prepare the workspace begin to run." },
  "setup.progressed": {
    payload: SetupStepPayload,
    text: "A command that prepares the workspace wrote something, or ended."
  },
  "setup.succeeded": {
    payload: SetupPayload,
    text: "The workspace is set up: all commands ended well, or what they left was copied."
  },
  "setup.failed": {
    payload: SetupPayload,
    text: "A command that prepares the workspace failed, and the session has no workspace yet."
  },
  "workspace.restored": {
    payload: RestoredPayload,
    text: "The workspace was made: from the base commit, empty, or from a snapshot on another machine."
  },
  "workspace.changed": {
    payload: WorkspacePayload,
    text: "A file was uploaded into the workspace; or, with the turn whose changeset holds it, it was written between two turns."
  }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof worktreeEvents> {}
}
