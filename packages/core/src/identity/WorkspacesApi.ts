import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, optional, patch, post, read, remove, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Role } from "@reins/base/domain/Role"
import { Schema } from "effect"
import { BudgetInput } from "../budgets/Budget.js"
import { EmailAddress, Member, Workspace, WorkspaceRetention } from "./Account.js"

export const MemberInput = Schema.Struct({
  email: field(EmailAddress, "The address of the person."),
  role: field(Role, "What the person may do.")
}).annotations({ identifier: "MemberInput", description: "A person to invite, or a member whose role is to change." })

const WorkspaceName = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(100),
  Schema.pattern(/\S/, { message: () => "Input should have a character that is no space" })
)

export const WorkspaceInput = Schema.Struct({
  name: field(WorkspaceName, "Its name for people, at most 100 characters. Workspaces may share a name.")
}).annotations({ identifier: "WorkspaceInput", description: "A workspace to be." })
export type WorkspaceInput = typeof WorkspaceInput.Type

export const WorkspacePatch = Schema.Struct({
  name: field(optional(WorkspaceName), "The new name, at most 100 characters."),
  retention: field(
    optional(WorkspaceRetention),
    "How long archived and closed sessions are kept. `retention-preview` counts those that would go."
  ),
  budget: field(
    Schema.optionalWith(Schema.NullOr(BudgetInput), { exact: true }),
    "The limits of what the model calls of all sessions may spend, in place of those that there are; null for none."
  )
}).annotations({ identifier: "WorkspacePatch", description: "What is to change. Absent fields stay as they are." })
export type WorkspacePatch = typeof WorkspacePatch.Type

/** The endpoints of workspaces themselves. Other rooms add to the group. */
export class WorkspacesApi extends HttpApiGroup.make("workspaces")
  .add(
    read("list", "/api/workspaces", "List the workspaces that the caller belongs to")
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("WorkspaceList", Workspace))
      .annotateContext(extension)
  )
  .add(
    post("create", "/api/workspaces", "Make a workspace, whose owner is the caller", "admin")
      .setPayload(WorkspaceInput)
      .addSuccess(withStatus(Workspace, 201))
      .annotateContext(extension)
  )
  .add(
    read("get", "/api/workspaces/:workspace_id", "Read a workspace")
      .setPath(idPath("workspace_id"))
      .addSuccess(Workspace)
      .annotateContext(extension)
  )
  .add(
    patch(
      "update",
      "/api/workspaces/:workspace_id",
      "Change the name, the budget or the retention of a workspace",
      "admin"
    )
      .setPath(idPath("workspace_id"))
      .setPayload(WorkspacePatch)
      .addSuccess(Workspace)
      .annotateContext(extension)
  )
  .add(
    read("listMembers", "/api/workspaces/:workspace_id/members", "List the members and who is invited")
      .setPath(idPath("workspace_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("MemberList", Member))
      .annotateContext(extension)
  )
  .add(
    post(
      "addMember",
      "/api/workspaces/:workspace_id/members",
      "Invite a person by mail, or change the role of a member or an invitation",
      "admin"
    )
      .setPath(idPath("workspace_id"))
      .setPayload(MemberInput)
      .addSuccess(withStatus(Member, 202))
      .annotateContext(extension)
  )
  .add(
    remove(
      "removeMember",
      "/api/workspaces/:workspace_id/members/:account_id",
      "Remove a member, or take back an invitation by its id",
      "admin"
    )
      .setPath(Schema.extend(idPath("workspace_id"), idPath("account_id")))
      .addSuccess(Member)
      .annotateContext(extension)
  )
  .add(
    post("leave", "/api/workspaces/:workspace_id/leave", "Leave a workspace", "admin")
      .setPath(idPath("workspace_id"))
      .addSuccess(Member)
      .annotateContext(extension)
  ) {}
