import { Redacted } from "effect"
import type { AccountRow } from "./AccountRow.js"
import type { InvitationRow } from "./InvitationRow.js"
import type { Mail } from "./Mailer.js"

export interface MailOptions {
  /** Where people reach the service, without a slash at the end. Links are built from it and from nothing that a request says. */
  readonly publicUrl: string
}

/**
 * The page behind a link. The token is the whole query: pages work without JavaScript, which never sees what stands behind `#`, and
 * a path would stand in access logs. It has no name, since `=` is written otherwise in some encodings of mail: so the line can be
 * read in a mail file as it is.
 */
const link = (options: MailOptions, page: "verify" | "reset" | "join", token: Redacted.Redacted): string =>
  `${options.publicUrl}/${page}?${Redacted.value(token)}`

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

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ")

const greeting = (account: AccountRow): string =>
  account.display_name === null ? "Hello," : `Hello ${oneLine(account.display_name)},`
