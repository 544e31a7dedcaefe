import { Schema } from "effect"
import { AccountId, InvitationId, WorkspaceId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const AccountState = Schema.Literal("unverified", "active", "disabled")
export type AccountState = typeof AccountState.Type

export const accountStates = /* @__PURE__ */ StateMachine.make<AccountState>("account", {
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

/** An `owner` or a `member` may write, a `viewer` may only read. Owners choose the members of the workspace. */
export const Role = Schema.Literal("owner", "member", "viewer")
export type Role = typeof Role.Type

/** The owner of projects, connections and sessions. Every active account has a personal one. */
export const Workspace = Schema.Struct({
  id: WorkspaceId,
  name: Schema.String,
  personal: Schema.Boolean,
  role: Role,
  created_at: Timestamp
}).annotations({ identifier: "Workspace" })
export type Workspace = typeof Workspace.Type

/**
 * An account that belongs to a workspace, or a person who was invited by mail. An invited person becomes a member with the link in the mail.
 * Until then nobody sees whether that person has an account.
 */
export const Member = Schema.Struct({
  /** The id of the account, or that of the invitation. */
  id: Schema.Union(AccountId, InvitationId),
  account_id: Schema.NullOr(AccountId),
  email: Schema.String,
  display_name: Schema.NullOr(Schema.String),
  role: Role,
  state: Schema.Literal("active", "invited"),
  /** The time at which an invitation ends; null for a member. */
  expires_at: Schema.NullOr(Timestamp),
  created_at: Timestamp
}).annotations({ identifier: "Member" })
export type Member = typeof Member.Type

/** An address as it is stored and compared: trimmed, NFC, lower case. */
export const EmailAddress = Schema.String.pipe(
  Schema.maxLength(254),
  Schema.pattern(/^[^\s@<>"(),:;[\]\\]+@[^\s@<>"(),:;[\]\\]+$/, { message: () => "value is not a valid email address" })
)

/** A password that may be chosen has at least 8 characters and at most 1024 bytes. */
export const NewPassword = Schema.String.pipe(Schema.minLength(8), Schema.maxLength(1024))
