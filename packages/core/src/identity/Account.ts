import { field } from "@reins/base/domain/Field"
import { AccountId, InvitationId, WorkspaceId } from "@reins/base/domain/Ids"
import { Role } from "@reins/base/domain/Role"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { Budget } from "../budgets/Budget.js"

export const AccountState = Schema.Literal("unverified", "active", "disabled").annotations({
  description:
    "`unverified` until the address was proved by the link of a mail, then `active`; a `disabled` account cannot log in."
})
export type AccountState = typeof AccountState.Type

export const accountStates = /* @__PURE__ */ StateMachine.make<AccountState>("account", {
  unverified: ["active", "disabled"],
  active: ["disabled"],
  disabled: []
})

export const Account = Schema.Struct({
  id: field(AccountId, "The id of the account."),
  email: field(Schema.String, "The address of the account, trimmed and in lower case."),
  display_name: field(Schema.NullOr(Schema.String), "The name that others see; null when none was given."),
  state: field(AccountState, "Tells if the account may log in."),
  created_at: field(Timestamp, "The time at which the account was registered.")
}).annotations({ identifier: "Account", description: "A person who can log in and own API keys." })
export type Account = typeof Account.Type

export const WorkspaceRetention = Schema.Struct({
  sessions_days: field(
    Schema.NullOr(Schema.Int.pipe(Schema.between(1, 36_500))),
    "Archived and closed sessions that were last used more days ago are deleted for good; null keeps them."
  )
}).annotations({
  identifier: "WorkspaceRetention",
  description: "How long a workspace keeps what nobody uses any more. Nothing is deleted unless it says so."
})

export const Workspace = Schema.Struct({
  id: field(WorkspaceId, "The id of the workspace."),
  name: field(Schema.String, "The name of the workspace."),
  personal: field(Schema.Boolean, "True for the workspace that an account gets by itself."),
  role: field(Role, "The role of the caller in the workspace."),
  budget: field(
    Schema.NullOr(Budget),
    "What the model calls of all sessions of the workspace may spend; null for no limit."
  ),
  retention: field(WorkspaceRetention, "The time for which the workspace keeps what nobody uses any more."),
  created_at: field(Timestamp, "The time at which the workspace was made.")
}).annotations({
  identifier: "Workspace",
  description: "The owner of projects, connections and sessions. Every active account has a personal one."
})
export type Workspace = typeof Workspace.Type

export const Member = Schema.Struct({
  id: field(
    Schema.Union(AccountId, InvitationId),
    "The id of the account, or that of the invitation. It removes the member or takes the invitation back."
  ),
  account_id: field(Schema.NullOr(AccountId), "The id of the account; null for an invitation."),
  email: field(Schema.String, "The address of the member, or the one that was invited."),
  display_name: field(
    Schema.NullOr(Schema.String),
    "The name that the member has chosen; null for none, and for an invitation."
  ),
  role: field(Role, "What the member may do."),
  state: field(
    Schema.Literal("active", "invited"),
    "`active` for a member, `invited` until the link of the mail was used."
  ),
  expires_at: field(Schema.NullOr(Timestamp), "The time at which an invitation ends; null for a member."),
  created_at: field(Timestamp, "The time at which the member joined or was invited.")
}).annotations({
  identifier: "Member",
  description:
    "An account that belongs to a workspace, or a person who was invited by mail. An invited person becomes a member with the link in the mail. Until then nobody sees whether that person has an account."
})
export type Member = typeof Member.Type

export const EmailAddress = Schema.String.pipe(
  Schema.maxLength(254),
  Schema.pattern(/^[^\s@<>"(),:;[\]\\]+@[^\s@<>"(),:;[\]\\]+$/, { message: () => "value is not a valid email address" })
).annotations({
  description: "An e-mail address of at most 254 characters. It is stored and compared trimmed and in lower case."
})

export const NewPassword = Schema.String.pipe(Schema.minLength(8), Schema.maxLength(1024)).annotations({
  description:
    "At least 8 characters and at most 1,024 bytes. A password that is among the most common ones is refused."
})
