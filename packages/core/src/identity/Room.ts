import { Effect } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { Accounts } from "./Accounts.js"
import { LoginSessions } from "./LoginSessions.js"
import * as MailJob from "./MailJob.js"
import { Members } from "./Members.js"

/** Accounts, API keys, logins, and the members of workspaces. */
export const identity = {
  name: "identity",
  tables: ["accounts", "workspaces", "workspace_invitations", "api_keys"],
  jobs: [Effect.flatMap(CoreConfig, ({ publicUrl }) => MailJob.make({ publicUrl }))],
  sweeps: {
    accounts: Effect.map(Accounts, ({ purge }) => purge),
    logins: Effect.map(LoginSessions, ({ purge }) => purge),
    invitations: Effect.map(Members, ({ purge }) => purge)
  }
} as const
