import { buffer } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Accounts } from "@reins/core/identity/Accounts"
import { Mailer } from "@reins/core/identity/Mailer"
import { Passwords } from "@reins/core/identity/Passwords"
import * as SmtpMailer from "@reins/core/identity/SmtpMailer"
import { Database } from "@reins/core/store/Database"
import { goodPassword, identityWith, mailWorker, newClient, newEmail } from "@reins/testing/identity/Identity"
import { mailerSuite } from "@reins/testing/identity/MailerSuite"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Layer, Logger, Queue, Redacted } from "effect"
import { type Options, SMTPServer } from "smtp-server"

interface Received {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly secure: boolean
  readonly user: string | undefined
  readonly text: string
}

/** A mail server with what it took, and how often a recipient was named to it. */
const mailServer = (options: Options & { readonly refuse?: (attempt: number) => number | undefined } = {}) =>
  Effect.gen(function* () {
    const { refuse, ...rest } = options
    const mails = yield* Queue.unbounded<Received>()
    let attempts = 0
    const server = yield* Effect.acquireRelease(
      Effect.async<SMTPServer>((resume) => {
        const made = new SMTPServer({
          authOptional: true,
          disableReverseLookup: true,
          disabledCommands: ["STARTTLS"],
          ...rest,
          onRcptTo: (_, __, done) => {
            attempts++
            const code = refuse?.(attempts)
            if (code === undefined) done()
            else done(Object.assign(new Error("not now, ada@example.com"), { responseCode: code }))
          },
          onData: (stream, { envelope, secure, user }, done) => {
            void buffer(stream).then((body) => {
              mails.unsafeOffer({
                from: envelope.mailFrom === false ? "" : envelope.mailFrom.address,
                to: envelope.rcptTo.map(({ address }) => address),
                secure,
                user,
                text: body.toString("utf8")
              })
              done()
            })
          }
        })
        // A client that gives up in the middle is no failure of the test.
        made.on("error", () => {})
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) => Effect.async<void>((resume) => made.close(() => resume(Effect.void)))
    )
    return {
      address: `127.0.0.1:${portOf(server)}`,
      next: Queue.take(mails),
      left: Queue.size(mails),
      attempts: () => attempts
    }
  })

const portOf = ({ server }: SMTPServer): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

const mail = {
  to: "ada@example.com",
  subject: "Prüfe die Adresse",
  text: "Hello,\n\nopen this:\nhttps://x/verify?abc-_1\n"
}

const smtp = (url: string) => SmtpMailer.layer(Redacted.make(url), "Reins <reins@example.com>")

const sendThrough = (url: string) =>
  Effect.provide(
    Effect.flatMap(Mailer, (mailer) => mailer.send(mail, "job_a")),
    smtp(url)
  )

const anyCertificate = "tls.rejectUnauthorized=false"

mailerSuite(
  "over SMTP",
  Effect.map(mailServer(), ({ address, next, left }) => ({
    layer: smtp(`smtp://${address}`),
    handedOver: Effect.flatMap(left, (count) =>
      Effect.map(Effect.replicateEffect(next, count), (mails) => mails.map(({ text }) => text))
    )
  }))
)

describe("a mail server", () => {
  it.scopedLive("gets each mail once, for its recipient, as it is", () =>
    Effect.gen(function* () {
      const server = yield* mailServer()
      yield* sendThrough(`smtp://${server.address}`)
      const got = yield* server.next
      assert.deepStrictEqual([got.from, got.to, got.secure], ["reins@example.com", [mail.to], false])
      assert.include(got.text, "From: Reins <reins@example.com>\r\n")
      assert.include(got.text, "To: ada@example.com\r\n")
      assert.include(got.text, "\r\nMessage-ID: <job_a@example.com>\r\n")
      assert.include(got.text, "\r\nhttps://x/verify?abc-_1\r\n")
      assert.strictEqual(yield* server.left, 0)
    })
  )

  it.scopedLive("that refuses for good is not tried again, one that refuses for now is", () =>
    Effect.gen(function* () {
      for (const [status, retryable] of [
        [550, false],
        [451, true]
      ] as const) {
        const server = yield* mailServer({ refuse: () => status })
        const error = yield* Effect.flip(sendThrough(`smtp://${server.address}`))
        assert.deepStrictEqual([error.code, error.retryable], [`smtp_${status}`, retryable])
        assert.notInclude(JSON.stringify(error), "ada@example.com")
      }
    })
  )

  it.scopedLive("that is not there is tried again, and its password is not told", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(sendThrough("smtp://user:hunter-canary@127.0.0.1:1"))
      assert.isTrue(error.retryable)
      assert.notInclude(`${JSON.stringify(error)} ${String(error)}`, "hunter-canary")
    })
  )

  it.scopedLive("that asks who sends gets the credentials of the URL, over TLS where it offers that", () =>
    Effect.gen(function* () {
      const server = yield* mailServer({
        authOptional: false,
        disabledCommands: [],
        onAuth: ({ password, username }, { secure }, done) =>
          username === "reins@example.com" && password === "p@ss/word" && secure
            ? done(null, { user: username })
            : done(new Error("wrong"))
      })
      const user = encodeURIComponent("reins@example.com")
      yield* sendThrough(`smtp://${user}:${encodeURIComponent("p@ss/word")}@${server.address}?${anyCertificate}`)
      const got = yield* server.next
      assert.deepStrictEqual([got.secure, got.user], [true, "reins@example.com"])
      const wrong = yield* Effect.flip(sendThrough(`smtp://${user}:canary@${server.address}?${anyCertificate}`))
      assert.deepStrictEqual([wrong.code, wrong.retryable], ["smtp_535", false])
      assert.notInclude(`${JSON.stringify(wrong)} ${String(wrong)}`, "canary")
      assert.strictEqual(yield* server.left, 0)
    })
  )

  it.scopedLive("that speaks TLS from the start is reached by smtps", () =>
    Effect.gen(function* () {
      const server = yield* mailServer({ secure: true })
      yield* sendThrough(`smtps://${server.address}?${anyCertificate}`)
      assert.isTrue((yield* server.next).secure)
    })
  )

  it.scopedLive("whose certificate nobody vouches for gets nothing, not even without TLS", () =>
    Effect.gen(function* () {
      const server = yield* mailServer({ disabledCommands: [] })
      const error = yield* Effect.flip(sendThrough(`smtp://${server.address}`))
      assert.isTrue(error.retryable)
      assert.deepStrictEqual([yield* server.left, server.attempts()], [0, 0])
    })
  )
})

/** Registers people with a worker that mails through the server, and waits for the jobs to end. */
const registerThrough = (address: string, emails: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const [sqlite] = databases
    if (sqlite === undefined) return yield* Effect.dieMessage("no database")
    const layer = Layer.provideMerge(
      mailWorker,
      identityWith(sqlite.layer, Passwords.layerTest, smtp(`smtp://${address}`))
    )
    return yield* Effect.gen(function* () {
      const accounts = yield* Accounts
      const db = yield* Database
      for (const email of emails) yield* accounts.register({ email, password: goodPassword }, newClient())
      const open = db.all(db.sql`select id from jobs where state not in ('succeeded', 'failed')`)
      yield* Effect.repeat(
        Effect.zipRight(
          Effect.promise(() => new Promise(setImmediate)),
          open
        ),
        {
          until: (rows) => rows.length === 0
        }
      )
      return yield* db.all(db.sql<{ job_state: string; state: string; error: string | null }>`
        select jobs.state as job_state, attempts.state, attempts.error from attempts
        join jobs on jobs.id = attempts.job_id order by jobs.id, attempts.ordinal`)
    }).pipe(Effect.provide(Layer.provideMerge(layer, Logger.remove(Logger.defaultLogger))))
  })

describe("the job that sends mail", () => {
  it.scopedLive("hands over exactly one mail for each registration", () =>
    Effect.gen(function* () {
      const server = yield* mailServer()
      const emails = Array.from({ length: 12 }, newEmail)
      const attempts = yield* registerThrough(server.address, emails)
      assert.strictEqual(attempts.length, emails.length)
      const got = yield* Effect.forEach(emails, () => server.next)
      assert.sameMembers(
        got.flatMap(({ to }) => to),
        emails
      )
      assert.deepStrictEqual([yield* server.left, server.attempts()], [0, emails.length])
    })
  )

  it.scopedLive("comes again to a server that greylists, and then hands over one mail", () =>
    Effect.gen(function* () {
      const server = yield* mailServer({ refuse: (attempt) => (attempt === 1 ? 451 : undefined) })
      const email = newEmail()
      const attempts = yield* registerThrough(server.address, [email])
      assert.deepStrictEqual(
        attempts.map((attempt) => [attempt.job_state, attempt.state]),
        [
          ["succeeded", "failed"],
          ["succeeded", "succeeded"]
        ]
      )
      assert.include(attempts[0]?.error ?? "", "smtp_451")
      assert.deepStrictEqual((yield* server.next).to, [email])
      assert.deepStrictEqual([yield* server.left, server.attempts()], [0, 2])
    })
  )

  it.scopedLive("gives up at once where the server refuses for good, and says so without the address", () =>
    Effect.gen(function* () {
      const server = yield* mailServer({ refuse: () => 550 })
      const email = newEmail()
      const attempts = yield* registerThrough(server.address, [email])
      assert.deepStrictEqual(
        attempts.map((attempt) => [attempt.job_state, attempt.state]),
        [["failed", "failed"]]
      )
      assert.include(attempts[0]?.error ?? "", "smtp_550")
      assert.notInclude(JSON.stringify(attempts), email)
    })
  )
})
