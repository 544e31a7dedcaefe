import { mkdir, open, readdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { Clock, Context, Data, Effect, Layer, Redacted, Scope } from "effect"
import { fn } from "../base/Traced.js"

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
>() {
  /**
   * Writes every mail as a file `<time>-<number>-<key>.eml` into a directory, for an installation without a mail server. Names sort by
   * time; a mail whose file is there is not written again. The files hold one-time tokens by their nature: their mode is 0600, that of the directory 0700.
   */
  static readonly layerOutbox = (dir: string, from = "Reins <reins@localhost>") =>
    Layer.sync(Mailer, () => {
      let written = 0
      return Mailer.of({
        send: fn("Mailer.send")(function* (mail, key) {
          const at = new Date(yield* Clock.currentTimeMillis)
          const number = String(written++).padStart(6, "0")
          const path = join(dir, `${at.toISOString().replaceAll(/[-:.]/g, "")}-${number}-${key}.eml`)
          yield* Effect.tryPromise({
            try: async () => {
              await mkdir(dir, { recursive: true, mode: 0o700 })
              if ((await readdir(dir)).some((name) => name.endsWith(`-${key}.eml`))) return
              const { message } = await (await composer()).sendMail({ ...envelope(mail, key, from), date: at })
              await writeWhole(path, Buffer.isBuffer(message) ? message : await buffer(message))
            },
            catch: (cause) => new MailRefused({ code: codeOf(cause), retryable: true })
          })
          yield* Effect.logInfo("a mail was written to the outbox", { path })
        })
      })
    })

  /** Sends mail through a server: `smtp://` or `smtps://` with the credentials in the URL. */
  static readonly layerSmtp = (url: Redacted.Redacted, from: string) =>
    Layer.scoped(
      Mailer,
      Effect.gen(function* () {
        const opened = Effect.acquireRelease(
          Effect.promise(() => smtp(url)),
          (open) => Effect.sync(() => open.close())
        )
        const transport = yield* Effect.cached(Scope.extend(opened, yield* Effect.scope))
        return Mailer.of({
          send: fn("Mailer.send")(function* (mail, key) {
            const open = yield* transport
            yield* Effect.tryPromise({ try: () => open.sendMail(envelope(mail, key, from)), catch: refusal })
          })
        })
      })
    )
}

/** Whether a mail server takes us, without sending anything; else why not, by its code. */
export const checkSmtp = (url: Redacted.Redacted): Effect.Effect<void, MailRefused> =>
  Effect.acquireUseRelease(
    Effect.promise(() => smtp(url)),
    (transport) => Effect.tryPromise({ try: () => transport.verify(), catch: refusal }),
    (transport) => Effect.sync(() => transport.close())
  ).pipe(Effect.asVoid)

/** Nothing in a mail makes this program read a file or open a URL. */
const closed = { disableFileAccess: true, disableUrlAccess: true }

/** Loaded with the first mail: it would be a seventh of what every server and command reads at its start. */
const library = async () => (await import("nodemailer")).default

const composer = async () => {
  const made = (await library()).createTransport({ streamTransport: true, buffer: true, newline: "windows", ...closed })
  // These files are read as they stand, by people and scripts: a link that is folded into two lines leads nowhere.
  made.use("stream", ({ message }, done) => {
    message.getTransferEncoding = () => "8bit"
    done()
  })
  return made
}

const smtp = async (url: Redacted.Redacted) =>
  (await library()).createTransport({ url: Redacted.value(url), ...timeouts, ...closed })

const timeouts = { connectionTimeout: 15_000, greetingTimeout: 15_000, socketTimeout: 30_000 }

const envelope = (mail: Mail, key: string, from: string) => ({
  from,
  messageId: `<${key}@${/@([^\s>]+)/.exec(from)?.[1] ?? "localhost"}>`,
  // As an object, so that nothing in an address is read as a second one.
  to: { name: "", address: mail.to },
  subject: mail.subject,
  // With the line ends of mail, else the encoder folds lines where they are short, and a link in the middle.
  text: mail.text.replaceAll("\n", "\r\n"),
  textEncoding: "quoted-printable" as const
})

/** A file that is there whole or not at all. */
const writeWhole = async (path: string, content: Buffer): Promise<void> => {
  const temporary = `${path}.tmp`
  const file = await open(temporary, "wx", 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : "unknown"

const refusal = (cause: unknown): MailRefused => {
  const status =
    typeof cause === "object" && cause !== null && "responseCode" in cause && typeof cause.responseCode === "number"
      ? cause.responseCode
      : undefined
  return new MailRefused({
    code: status === undefined ? codeOf(cause) : `smtp_${status}`,
    retryable: status === undefined || status < 500
  })
}
