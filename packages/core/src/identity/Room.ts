import { CoreConfig } from "@reins/base/base/CoreConfig"
import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Effect } from "effect"
import { Accounts } from "./Accounts.js"
import { ApiKeys } from "./ApiKeys.js"
import * as IdentityStores from "./IdentityStores.js"
import { LoginSessions } from "./LoginSessions.js"
import * as MailJob from "./MailJob.js"
import { Members } from "./Members.js"
import * as operations from "./Operations.js"
import { PasswordChanges } from "./PasswordChanges.js"
import { Passwords } from "./Passwords.js"
import { Workspaces } from "./Workspaces.js"

/** Accounts, API keys, logins, and the members of workspaces. */
export const identity = {
  name: "identity",
  layer: oneByOne(
    Accounts.layer,
    ApiKeys.layer,
    LoginSessions.layer,
    Members.layer,
    PasswordChanges.layer,
    Workspaces.layer
  ).pipe(onTopOf(oneByOne(IdentityStores.layer, Passwords.layer))),
  tables: ["accounts", "workspaces", "workspace_invitations", "api_keys"],
  jobs: [Effect.flatMap(CoreConfig, ({ publicUrl }) => MailJob.make({ publicUrl }))],
  sweeps: {
    accounts: Effect.map(Accounts, ({ purge }) => purge),
    logins: Effect.map(LoginSessions, ({ purge }) => purge),
    invitations: Effect.map(Members, ({ purge }) => purge)
  },
  operations
} as const
