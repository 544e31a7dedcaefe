import { assert, describe, it } from "@effect/vitest"
import { Mailer } from "@reins/core/identity/Mailer"
import { Effect, type Layer, Logger, type Scope } from "effect"

/** A mailer, and the whole mails that it has handed over, in their order. */
export interface MailerSubject {
  readonly layer: Layer.Layer<Mailer>
  readonly handedOver: Effect.Effect<ReadonlyArray<string>>
}

const mail = {
  to: "ada@example.com",
  subject: "Prüfe die Adresse",
  text: "Hello,\n\nopen this:\nhttps://x/verify?abc-_1\n"
}

const idsOf = (mails: ReadonlyArray<string>): ReadonlyArray<string> =>
  mails.map((text) => /^Message-ID: (\S+)\r$/m.exec(text)?.[1] ?? "")

/** The promises of `Mailer`, for one kind of mailer. */
export const mailerSuite = (name: string, given: Effect.Effect<MailerSubject, never, Scope.Scope>): void => {
  describe(`the mailer ${name}`, () => {
    const sending = (...mails: ReadonlyArray<readonly [typeof mail, string]>) =>
      Effect.gen(function* () {
        const { handedOver, layer } = yield* given
        yield* Effect.forEach(mails, ([each, key]) =>
          Effect.provide(Effect.exit(Effect.flatMap(Mailer, (mailer) => mailer.send(each, key))), layer)
        )
        return yield* handedOver
      }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))

    it.scopedLive("hands each mail over once, whole, to its recipient, with a Message-ID of its own", () =>
      Effect.gen(function* () {
        const mails = yield* sending([mail, "job_a"], [{ ...mail, to: "bob@example.com" }, "job_b"])
        assert.strictEqual(mails.length, 2)
        const [first = "", second = ""] = mails
        assert.include(first, "\r\nTo: ada@example.com\r\n")
        assert.include(second, "\r\nTo: bob@example.com\r\n")
        assert.include(first, "\r\n\r\nHello,\r\n\r\nopen this:\r\nhttps://x/verify?abc-_1\r\n")
        assert.match(first, /^Subject: =\?UTF-8\?/m)
        assert.strictEqual(new Set(idsOf(mails)).size, 2)
      })
    )

    it.scopedLive("gives a mail that is handed over again the Message-ID that it had", () =>
      Effect.gen(function* () {
        const mails = yield* sending([mail, "job_a"], [mail, "job_a"])
        assert.isNotEmpty(mails)
        assert.strictEqual(new Set(idsOf(mails)).size, 1)
      })
    )

    it.scopedLive("reaches nobody else by an address or a subject that tries to", () =>
      Effect.gen(function* () {
        const mails = yield* sending([
          { ...mail, to: "a@example.com, b@example.com", subject: "x\r\nBcc: c@example.com" },
          "job_a"
        ])
        for (const text of mails) {
          const head = text.split("\r\n\r\n")[0] ?? ""
          assert.notMatch(head, /^Bcc:/im)
          assert.notMatch(head, /^To:.*,\s*b@example\.com/im)
        }
      })
    )
  })
}
