import { Context, Data, type Effect } from "effect"

/** A mail of plain text to one person. */
export interface Mail {
  /** One address. Nothing in it may be read as a second one. */
  readonly to: string
  /** One line of any characters. */
  readonly subject: string
  /** Lines that end with a line feed. A link in them stays on one line where mail allows that. */
  readonly text: string
}

/** The mail was not handed over. */
export class MailRefused extends Data.TaggedError("MailRefused")<{
  /** The code of the transport or the status of the mail server, as in `smtp_550`. It holds no address. */
  readonly code: string
  /** False when the mail server refused it for good. */
  readonly retryable: boolean
}> {}

/** Hands mails over to be delivered. */
export class Mailer extends Context.Tag("@reins/core/identity/Mailer")<
  Mailer,
  {
    /**
     * Hands a mail over. The key names the mail and makes its Message-ID, so that a mail that is handed over again has the same. That
     * happens when the service ends before it has noted that a mail server took the mail, which cannot be asked for it.
     */
    readonly send: (mail: Mail, key: string) => Effect.Effect<void, MailRefused>
  }
>() {}
