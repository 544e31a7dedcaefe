import { Context, Data, type Effect } from "effect"

/** A mail of plain text to one person. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** The mail was not handed over. `code` is the code of the transport or the status of the mail server, and holds no address. */
export class MailRefused extends Data.TaggedError("MailRefused")<{
  readonly code: string
  /** False when the mail server refused it for good. */
  readonly retryable: boolean
}> {}

/**
 * Hands a text mail over to be delivered. A key names the mail, and makes its Message-ID: one that is handed over again has the same.
 * That happens when a mail server took it and nobody lived to write that down, since a mail server cannot be asked what it took.
 */
export class Mailer extends Context.Tag("@reins/core/identity/Mailer")<
  Mailer,
  {
    readonly send: (mail: Mail, key: string) => Effect.Effect<void, MailRefused>
  }
>() {}
