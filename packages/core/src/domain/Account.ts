import { Schema } from "effect"
import { AccountId, InvitationId, WorkspaceId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const AccountState = Schema.Literal("unverified", "active", "disabled")
export type AccountState = typeof AccountState.Type

export const accountStates = StateMachine.make<AccountState>("account", {
  unverified: ["active", "disabled"],
  active: ["disabled"],
  disabled: []
})

export const Account = Schema.Struct({
  id: AccountId,
  email: Schema.String,
  display_name: Schema.NullOr(Schema.String),
  state: AccountState,
  created_at: Timestamp
}).annotations({ identifier: "Account" })
export type Account = typeof Account.Type

/** `owner` and `member` may write, a `viewer` reads. Owners say who else may use the workspace. */
export const Role = Schema.Literal("owner", "member", "viewer")
export type Role = typeof Role.Type

/** The scope that owns projects, connections and sessions. Every account has a personal one. */
export const Workspace = Schema.Struct({
  id: WorkspaceId,
  name: Schema.String,
  personal: Schema.Boolean,
  role: Role,
  created_at: Timestamp
}).annotations({ identifier: "Workspace" })
export type Workspace = typeof Workspace.Type

/**
 * Who may use a workspace, or was invited by mail to. An invited person is no member until the link in the mail was used, and has
 * no account here as far as anybody can see before that.
 */
export const Member = Schema.Struct({
  /** Of the account, or of the invitation. */
  id: Schema.Union(AccountId, InvitationId),
  account_id: Schema.NullOr(AccountId),
  email: Schema.String,
  display_name: Schema.NullOr(Schema.String),
  role: Role,
  state: Schema.Literal("active", "invited"),
  /** When an invitation ends. */
  expires_at: Schema.NullOr(Timestamp),
  created_at: Timestamp
}).annotations({ identifier: "Member" })
export type Member = typeof Member.Type

/** An address as it is stored and compared: trimmed, NFC, lower case. */
export const EmailAddress = Schema.String.pipe(
  Schema.maxLength(254),
  Schema.pattern(/^[^\s@<>"(),:;[\]\\]+@[^\s@<>"(),:;[\]\\]+$/, { message: () => "value is not a valid email address" })
)

/** At least 8 characters and at most 1024 bytes. */
export const NewPassword = Schema.String.pipe(Schema.minLength(8), Schema.maxLength(1024))
