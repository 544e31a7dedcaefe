import { Redacted } from "effect"
import type { AccountRow } from "./AccountRow.js"
import type { Mail } from "./Mailer.js"

export interface MailOptions {
  /** Where people reach the service, without a slash at the end. Links are built from it and from nothing that a request says. */
  readonly publicUrl: string
}

/**
 * The token stands behind `#`, which browsers do not send, so that it reaches no log of a server on the way. The lines that hold
 * it are short and without `=`, so that they can be read in a mail file as they are, whatever its encoding.
 */
export const verifyEmail = (options: MailOptions, account: AccountRow, token: Redacted.Redacted): Mail => ({
  to: account.email,
  subject: "Verify your e-mail address",
  text: `${greeting(account)}

somebody, most likely you, registered this address with Reins at
${options.publicUrl}. Open this link within 24 hours to verify it:

${options.publicUrl}/verify#${Redacted.value(token)}

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

If this was not you, you need not do anything.
`
})

const greeting = (account: AccountRow): string =>
  account.display_name === null ? "Hello," : `Hello ${account.display_name.replaceAll(/\s+/g, " ")},`
