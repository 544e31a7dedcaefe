import { once } from "@reins/base/base/Once"
import { fn } from "@reins/base/base/Traced"
import { Effect, Layer, Redacted, Scope } from "effect"
import { Mailer, MailRefused } from "./Mailer.js"
import { closed, envelope, library, mailCode } from "./MailLibrary.js"

/** Sends mail through a server: `smtp://` or `smtps://` with the credentials in the URL. */
export const layer = (url: Redacted.Redacted, from: string) =>
  Layer.scoped(
    Mailer,
    Effect.gen(function* () {
      const opened = Effect.acquireRelease(
        Effect.promise(() => smtp(url)),
        (open) => Effect.sync(() => open.close())
      )
      const transport = yield* once(Scope.extend(opened, yield* Effect.scope))
      return Mailer.of({
        send: fn("Mailer.send")(function* (mail, key) {
          const open = yield* transport
          yield* Effect.tryPromise({ try: () => open.sendMail(envelope(mail, key, from)), catch: refusal })
        })
      })
    })
  )

/** Logs in to a mail server and sends nothing. Fails with the code of the refusal. */
export const checkMailServer = (url: Redacted.Redacted): Effect.Effect<void, MailRefused> =>
  Effect.acquireUseRelease(
    Effect.promise(() => smtp(url)),
    (transport) => Effect.tryPromise({ try: () => transport.verify(), catch: refusal }),
    (transport) => Effect.sync(() => transport.close())
  ).pipe(Effect.asVoid)

const smtp = async (url: Redacted.Redacted) =>
  (await library()).createTransport({ url: Redacted.value(url), ...timeouts, ...closed })

const timeouts = { connectionTimeout: 15_000, greetingTimeout: 15_000, socketTimeout: 30_000 }

const refusal = (cause: unknown): MailRefused => {
  const status =
    typeof cause === "object" && cause !== null && "responseCode" in cause && typeof cause.responseCode === "number"
      ? cause.responseCode
      : undefined
  return new MailRefused({
    code: status === undefined ? mailCode(cause) : `smtp_${status}`,
    retryable: status === undefined || status < 500
  })
}
