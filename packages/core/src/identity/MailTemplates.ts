import { foreignName } from "@reins/base/base/ForeignText"
import { Redacted } from "effect"
import type { AccountRow } from "./AccountStore.js"
import type { Mail } from "./Mailer.js"
import type { InvitationRow } from "./MemberStore.js"

/** The settings that the texts of mails depend on. */
export interface MailOptions {
  /** The URL of the service as people reach it, without a slash at the end. Links are built from it alone, never from a request. */
  readonly publicUrl: string
}

/**
 * The link to a page. The token is in the query, because only JavaScript sees the part behind `#`, and access logs keep the path. The
 * token has no name, because some encodings of mail rewrite `=`, and scripts read the line from a mail file as it is.
 */
const link = (options: MailOptions, page: "verify" | "reset" | "join", token: Redacted.Redacted): string =>
  `${options.publicUrl}/${page}?${Redacted.value(token)}`

/** Asks the owner of an unverified account to open a link. */
export const verifyEmail = (options: MailOptions, account: AccountRow, token: Redacted.Redacted): Mail => ({
  to: account.email,
  subject: "Verify your e-mail address",
  text: `${greeting(account)}

somebody, most likely you, registered this address with Reins at
${options.publicUrl}. Open this link within 24 hours to verify it:

${link(options, "verify", token)}

Or do it from a terminal:

  curl -X POST ${options.publicUrl}/api/auth/email-verifications \\
    -H 'Content-Type: application/json' \\
    -H "Idempotency-Key: $(date +%s)" \\
    -d '{"token": "${Redacted.value(token)}"}'

If you did not register just now, do not open the link: without it nothing
happens.
`
})

/** Tells the owner of an account that somebody tried to register its address. */
export const alreadyRegistered = (options: MailOptions, account: AccountRow): Mail => ({
  to: account.email,
  subject: "You already have an account",
  text: `${greeting(account)}

somebody, most likely you, tried to register this address with Reins at
${options.publicUrl}. You already have an account there: log in with
this address and the password that you chose before. Nothing was changed.
A forgotten password can be replaced here:

${options.publicUrl}/reset

If this was not you, you need not do anything.
`
})

/** Brings the link that sets a new password. */
export const resetPassword = (options: MailOptions, account: AccountRow, token: Redacted.Redacted): Mail => ({
  to: account.email,
  subject: "Choose a new password",
  text: `${greeting(account)}

somebody, most likely you, asked for a new password for your account with
Reins at ${options.publicUrl}. Open this link within one hour to choose it:

${link(options, "reset", token)}

Or do it from a terminal:

  curl -X POST ${options.publicUrl}/api/auth/password-resets \\
    -H 'Content-Type: application/json' \\
    -H "Idempotency-Key: $(date +%s)" \\
    -d '{"token": "${Redacted.value(token)}",
         "new_password": "..."}'

If you did not ask for it, you need not do anything: your password stays as
it is.
`
})

/** Tells the owner of an account that its password was replaced. */
export const passwordChanged = (options: MailOptions, account: AccountRow): Mail => ({
  to: account.email,
  subject: "Your password was changed",
  text: `${greeting(account)}

the password of your account with Reins at
${options.publicUrl} was changed just now. Other logins have ended; API
keys go on working until you revoke them.

If this was not you, choose another password at once:

${options.publicUrl}/reset
`
})

/** Brings the link by which an invited person joins a workspace. */
export const invitation = (options: MailOptions, invited: InvitationRow, token: Redacted.Redacted): Mail => ({
  to: invited.email,
  subject: "You are invited to a workspace",
  text: `Hello,

${invited.inviter_email} invites you as ${invited.role} to the
workspace "${oneLine(invited.workspace_name)}" of Reins at
${options.publicUrl}. Open this link within 7 days to join:

${link(options, "join", token)}

You need an account with this address. If you have none yet, register first.
If you do not know who invites you, do not open the link: without it nothing
happens.
`
})

/** Tells an owner of a workspace that one of its webhook endpoints is sent nothing more. */
export const webhookDisabled = (
  options: MailOptions,
  account: AccountRow,
  endpoint: { readonly endpoint_id: string; readonly host: string; readonly reason: string }
): Mail => ({
  to: account.email,
  subject: "A webhook endpoint was disabled",
  text: `${greeting(account)}

the webhook endpoint ${endpoint.endpoint_id}
at ${endpoint.host} is sent nothing more by Reins at
${options.publicUrl}, because ${
    endpoint.reason === "gone"
      ? "it answered 410, which says that it is gone."
      : "nothing has got through to it for five days."
  }

What comes meanwhile waits for it. Its deliveries and their attempts show what
it answered:

  GET ${options.publicUrl}/api/webhook-endpoints/${endpoint.endpoint_id}/deliveries

When it works again, enable it with PATCH and {"state": "enabled"}, or remove it.
`
})

const pauses: Readonly<Record<string, string>> = {
  failures: "its runs have failed, one after another.",
  owner_lost_access: "its account may no longer start work there, or its API key is no longer good.",
  budget_exhausted: "its total budget is used up.",
  session_gone: "the session that it writes to was closed or deleted.",
  project_archived: "its project was archived.",
  project_gone: "its project was deleted.",
  hook_gone: "the hook that rings it was removed."
}

/** Tells somebody that an automation starts nothing more by itself. */
export const automationPaused = (
  options: MailOptions,
  account: AccountRow,
  automation: { readonly automation_id: string; readonly name: string; readonly reason: string }
): Mail => ({
  to: account.email,
  subject: "An automation was paused",
  text: `${greeting(account)}

the automation ${oneLine(automation.name)}
(${automation.automation_id}) of Reins at
${options.publicUrl} was paused, because
${pauses[automation.reason] ?? "it could not go on."}

It starts nothing until somebody resumes it. Its runs say more:

  GET ${options.publicUrl}/api/automations/${automation.automation_id}/runs

Resume it with reins automations resume ${automation.automation_id}.
`
})

/** Tells somebody that a merge request is left to a person. */
export const careHandedOver = (
  options: MailOptions,
  account: AccountRow,
  request: { readonly merge_request_id: string; readonly title: string; readonly reason: string }
): Mail => ({
  to: account.email,
  subject: "A merge request needs you",
  text: `${greeting(account)}

Reins at ${options.publicUrl} leaves the merge request
${oneLine(request.title)} (${request.merge_request_id}) to you.

${request.reason}

What it has done so far:

  GET ${options.publicUrl}/api/merge-requests/${request.merge_request_id}/attentions
`
})

/** The longest name or title in a mail, in UTF-16 units. */
const longestName = 300

const oneLine = (text: string): string => foreignName(text, longestName)

const greeting = (account: AccountRow): string =>
  account.display_name === null ? "Hello," : `Hello ${oneLine(account.display_name)},`
