import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { extension, idPath, read, remove, withStatus } from "../domain/Endpoint.js"
import { Actor } from "../domain/Event.js"
import { field } from "../domain/Field.js"
import { JobId, OperationId, SessionId, WorkspaceId } from "../domain/Ids.js"
import { Page } from "../domain/Page.js"
import { pageFields } from "../domain/Query.js"
import { Timestamp } from "../domain/Timestamp.js"

export const SessionDeletionState = Schema.Literal("deleting", "deleted").annotations({
  description: "A `deleting` session is out of sight, and its files and rows are being deleted."
})
export type SessionDeletionState = typeof SessionDeletionState.Type

export const SessionDeletion = Schema.Struct({
  session_id: field(SessionId, "The session that was deleted."),
  workspace_id: field(WorkspaceId, "The workspace that it was in."),
  deleted_with: field(
    Schema.NullOr(SessionId),
    "The session that it worked for, and with which it was deleted; null for a session whose own deletion was asked for."
  ),
  deleted_by: field(Actor, "The one who asked for it."),
  state: field(SessionDeletionState, "How far the deletion is."),
  operation_id: field(OperationId, "The operation that does the work."),
  job_id: field(JobId, "The job that does the work."),
  requested_at: field(Timestamp, "The time of the request."),
  finished_at: field(Schema.NullOr(Timestamp), "The time at which nothing was left; null until then.")
}).annotations({
  identifier: "SessionDeletion",
  description: "The receipt of a deleted session. It has nothing of what was in the session, and stays."
})
export type SessionDeletion = typeof SessionDeletion.Type

const session = idPath("session_id")

export class DeletionsApi extends HttpApiGroup.make("sessions")
  .add(
    remove("delete", "/api/sessions/:session_id", "Delete a session for good, with the sessions that work for it")
      .setPath(session)
      .addSuccess(withStatus(SessionDeletion, 202))
      .annotateContext(extension)
  )
  .add(
    read("getDeletion", "/api/sessions/:session_id/deletion", "The receipt of a deleted session")
      .setPath(session)
      .addSuccess(SessionDeletion)
      .annotateContext(extension)
  ) {}

export class ReceiptsApi extends HttpApiGroup.make("workspaces").add(
  read(
    "listSessionDeletions",
    "/api/workspaces/:workspace_id/session-deletions",
    "List the receipts of deleted sessions"
  )
    .setPath(idPath("workspace_id"))
    .setUrlParams(Schema.Struct(pageFields))
    .addSuccess(Page("SessionDeletionList", SessionDeletion))
    .annotateContext(extension)
) {}
