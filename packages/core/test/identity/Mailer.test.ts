import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Mailer } from "@reins/core/identity/Mailer"
import * as OutboxMailer from "@reins/core/identity/OutboxMailer"
import { mailerSuite } from "@reins/testing/identity/MailerSuite"
import { Effect, Layer, Logger, TestClock } from "effect"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-outbox-"))),
  (dir) => Effect.sync(() => rmSync(dir, { recursive: true }))
)

const mail = {
  to: "ada@example.com",
  subject: "Prüfe die Adresse",
  text: "Hello,\n\nopen this:\nhttps://x/verify?abc-_1\n"
}

mailerSuite(
  "to the outbox",
  Effect.map(directory, (dir) => ({
    layer: OutboxMailer.layer(dir),
    handedOver: Effect.sync(() =>
      readdirSync(dir)
        .sort()
        .map((name) => readFileSync(join(dir, name), "utf8"))
    )
  }))
)

describe("The outbox", () => {
  it.scoped("the outbox holds each mail as one complete file of mode 0600, in the order of sending", () =>
    Effect.gen(function* () {
      const dir = join(yield* directory, "outbox")
      const layer = OutboxMailer.layer(dir)
      yield* Effect.gen(function* () {
        const mailer = yield* Mailer
        yield* mailer.send({ ...mail, to: "a@example.com" }, "job_a")
        yield* mailer.send({ ...mail, to: "b@example.com" }, "job_b")
        yield* TestClock.adjust("1 day")
        yield* mailer.send({ ...mail, to: "c@example.com" }, "job_c")
      }).pipe(Effect.provide(layer))
      const names = readdirSync(dir).sort()
      assert.strictEqual(names.length, 3)
      const texts = names.map((name) => readFileSync(join(dir, name), "utf8"))
      for (const [index, address] of ["a@example.com", "b@example.com", "c@example.com"].entries()) {
        const text = texts[index] ?? ""
        assert.match(names[index] ?? "", /^\d{8}T\d{9}Z-\d{6}-job_[abc]\.eml$/)
        assert.match(text, /^From: Reins <reins@localhost>\r$/m)
        assert.include(text, `\r\nTo: ${address}\r\n`)
        assert.include(text, "\r\n\r\nHello,\r\n\r\nopen this:\r\nhttps://x/verify?abc-_1\r\n")
      }
      assert.deepStrictEqual(new Set(names.map((name) => statSync(join(dir, name)).mode & 0o777)), new Set([0o600]))
      assert.strictEqual(statSync(dir).mode & 0o777, 0o700)
    })
  )

  it.scoped("a link stands on one line of its file, however long it is", () =>
    Effect.gen(function* () {
      const dir = yield* directory
      const link = `https://reins.${"long-".repeat(30)}example/verify?${"a".repeat(43)}`
      const send = Effect.flatMap(Mailer, (mailer) =>
        mailer.send({ ...mail, text: `Grüße,\n\nopen this:\n${link}\n` }, "job_a")
      )
      yield* Effect.provide(send, OutboxMailer.layer(dir))
      const text = readFileSync(join(dir, readdirSync(dir)[0] ?? "nothing"), "utf8")
      assert.include(text, `\r\nContent-Transfer-Encoding: 8bit\r\n`)
      assert.include(text, `\r\n\r\nGrüße,\r\n\r\nopen this:\r\n${link}\r\n`)
    })
  )

  it.scoped(
    "a mail that is handed over again, by a later process too, lies in the outbox once under one Message-ID",
    () =>
      Effect.gen(function* () {
        const dir = join(yield* directory, "outbox")
        for (const text of ["first\n", "again\n"]) {
          yield* Effect.flatMap(Mailer, (mailer) => mailer.send({ ...mail, text }, "job_a")).pipe(
            Effect.provide(OutboxMailer.layer(dir, "Reins <reins@example.com>"))
          )
          yield* TestClock.adjust("1 minute")
        }
        const [name = "", ...others] = readdirSync(dir)
        assert.isEmpty(others)
        const text = readFileSync(join(dir, name), "utf8")
        assert.include(text, "\r\nMessage-ID: <job_a@example.com>\r\n")
        assert.include(text, "first")
      })
  )

  it.scoped("the log says where a mail lies and nothing of what it says", () =>
    Effect.gen(function* () {
      const dir = yield* directory
      const lines: Array<string> = []
      const logger = Logger.make(({ annotations, message }) => {
        lines.push(JSON.stringify([message, [...annotations]]))
      })
      yield* Effect.flatMap(Mailer, (mailer) => mailer.send(mail, "job_a")).pipe(
        Effect.provide(Layer.merge(OutboxMailer.layer(dir), Logger.replace(Logger.defaultLogger, logger)))
      )
      const log = lines.join("\n")
      assert.include(log, join(dir, readdirSync(dir)[0] ?? "nothing"))
      for (const secret of ["abc-_1", "ada@example.com"]) assert.notInclude(log, secret)
    })
  )
})
