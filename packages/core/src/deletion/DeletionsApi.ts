import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, post, read, remove, withStatus } from "@reins/base/domain/Endpoint"
import { Actor } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { AccountId, JobId, OperationId, ProjectId, SessionId, WorkspaceId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { integer, pageFields } from "@reins/base/domain/Query"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

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

export const Deletion = Schema.Struct({
  kind: field(Schema.Literal("project", "workspace", "account"), "The resource that was deleted."),
  id: field(Schema.Union(ProjectId, WorkspaceId, AccountId), "The id that it had."),
  workspace_id: field(
    Schema.NullOr(WorkspaceId),
    "The workspace of a project, and a deleted workspace itself; null for an account."
  ),
  deleted_by: field(Actor, "The one who asked for it."),
  state: field(
    Schema.Literal("deleting", "deleted"),
    "While it is `deleting`, it is out of sight, and what was in it is being deleted."
  ),
  operation_id: field(OperationId, "The operation that does the work."),
  job_id: field(JobId, "The job that does the work."),
  requested_at: field(Timestamp, "The time of the request."),
  finished_at: field(Schema.NullOr(Timestamp), "The time at which nothing was left; null until then.")
}).annotations({
  identifier: "Deletion",
  description: "The receipt of a deleted project, workspace or account. It has nothing of what was in it, and stays."
})
export type Deletion = typeof Deletion.Type

export const AccountDeletionInput = Schema.Struct({
  password: field(Schema.String.pipe(Schema.maxLength(1024)), "The password of the account.")
}).annotations({ identifier: "AccountDeletionInput", description: "The proof that the account is to go." })
export type AccountDeletionInput = typeof AccountDeletionInput.Type

export const RetentionPreview = Schema.Struct({
  sessions_days: field(Schema.Int, "The days that were asked about."),
  sessions: field(Schema.Int, "The sessions that would go now, with those that work for them."),
  used_before: field(Timestamp, "Those that were last used before this time would go.")
}).annotations({
  identifier: "RetentionPreview",
  description: "The effect that a retention would have now. Nothing is deleted."
})
export type RetentionPreview = typeof RetentionPreview.Type

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

const workspace = idPath("workspace_id")

export class AccountDeletionsApi extends HttpApiGroup.make("accounts").add(
  post(
    "delete",
    "/api/auth/account-deletions",
    "Delete the account of the caller for good, with the workspaces in which nobody else is",
    "admin"
  )
    .setPayload(AccountDeletionInput)
    .addSuccess(withStatus(Deletion, 202))
    .annotateContext(extension)
) {}

export class ReceiptsApi extends HttpApiGroup.make("workspaces")
  .add(
    remove("delete", "/api/workspaces/:workspace_id", "Delete a workspace for good, with all that is in it", "admin")
      .setPath(workspace)
      .setUrlParams(
        Schema.Struct({
          confirm: field(
            Schema.String,
            "The name of the workspace, so that no program deletes another one by accident."
          )
        })
      )
      .addSuccess(withStatus(Deletion, 202))
      .annotateContext(extension)
  )
  .add(
    read(
      "getDeletion",
      "/api/workspaces/:workspace_id/deletion",
      "The receipt of a deleted workspace, for the account that has deleted it"
    )
      .setPath(workspace)
      .addSuccess(Deletion)
      .annotateContext(extension)
  )
  .add(
    read(
      "getRetentionPreview",
      "/api/workspaces/:workspace_id/retention-preview",
      "Count the sessions that a retention would delete now"
    )
      .setPath(workspace)
      .setUrlParams(
        Schema.Struct({
          sessions_days: field(
            integer({ min: 1, max: 36_500 }),
            "The days after their last use for which sessions would be kept."
          )
        })
      )
      .addSuccess(RetentionPreview)
      .annotateContext(extension)
  )
  .add(
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

const project = idPath("project_id")

export class ProjectDeletionsApi extends HttpApiGroup.make("projects")
  .add(
    remove("delete", "/api/projects/:project_id", "Delete a project for good, with its versions and secrets", "admin")
      .setPath(project)
      .addSuccess(withStatus(Deletion, 202))
      .annotateContext(extension)
  )
  .add(
    read("getDeletion", "/api/projects/:project_id/deletion", "The receipt of a deleted project")
      .setPath(project)
      .addSuccess(Deletion)
      .annotateContext(extension)
  ) {}
