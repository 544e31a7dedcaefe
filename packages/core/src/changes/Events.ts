import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { ApplicationId, SessionId } from "@reins/base/domain/Ids"
import { Schema } from "effect"
import { ApplicationReason, ApplicationState, ApplicationStrategy } from "./Application.js"
import { ChangesetOrigin, ChangesetState } from "./Changeset.js"

const ApplicationPayload = Schema.Struct({
  application_id: field(ApplicationId, "The application that ended."),
  source_session_id: field(SessionId, "The session that the changeset comes from."),
  strategy: field(ApplicationStrategy, "How the changes were brought in."),
  dry_run: field(Schema.Boolean, "True when nothing was written."),
  state: field(ApplicationState, "How the application ended."),
  changed_count: field(Schema.Int, "The number of paths that were written, or would be."),
  conflict_count: field(Schema.Int, "The number of paths that conflict."),
  conflicts: field(Schema.Array(Schema.String), "The first 100 paths that conflict."),
  reason: field(Schema.NullOr(ApplicationReason), "Why the application failed; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  )
}).annotations({
  identifier: "ApplicationPayload",
  description: "The end of an application. The application itself lists every path."
})

const ChangesetPayload = Schema.Struct({
  state: field(ChangesetState, "Where the capture stands."),
  origin: field(ChangesetOrigin, "The way in which it was captured."),
  subject_digest: field(Schema.NullOr(Schema.String), "The digest of the sealed change; null until `ready`."),
  empty: field(Schema.Boolean, "True when nothing differs from the base commit."),
  file_count: field(Schema.Int, "The number of files that differ."),
  additions: field(Schema.Int, "The number of added lines."),
  deletions: field(Schema.Int, "The number of deleted lines."),
  reason: field(Schema.NullOr(Schema.String), "Why the capture failed, as a sentence; null otherwise.")
}).annotations({
  identifier: "ChangesetPayload",
  description: "The capture of a changeset, without its list of files."
})

/** The events of changesets and of their applications. */
export const changeEvents = eventKinds({
  "workspace.applied": {
    payload: ApplicationPayload,
    text: "A changeset was applied to the workspace, or a dry run found that it fits."
  },
  "workspace.apply_conflicted": {
    payload: ApplicationPayload,
    text: "A changeset was not applied, because files stand in the way."
  },
  "workspace.apply_failed": {
    payload: ApplicationPayload,
    text: "A changeset could not be applied, for a reason other than its files."
  },
  "changeset.capture_requested": { payload: ChangesetPayload, text: "The workspace is being captured." },
  "changeset.ready": {
    payload: ChangesetPayload,
    text: "The changeset is sealed: its diff can be read, and it can be delivered."
  },
  "changeset.failed": { payload: ChangesetPayload, text: "The capture failed." }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof changeEvents> {}
}
