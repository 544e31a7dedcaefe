import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Mailer } from "@reins/core/identity/Mailer"
import { Deferred, Effect, Logger, Redacted, TestClock } from "effect"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-outbox-"))),
  (dir) => Effect.sync(() => rmSync(dir, { recursive: true }))
)

const mail = {
  to: "ada@example.com",
  subject: "Prüfe die Adresse",
  text: "Hello,\n\nopen this:\nhttps://x/verify?abc-_1\n"
}

/** A mail server that answers a recipient with the given line and keeps what is sent to it. */
const mailServer = (recipientAnswer: string) =>
  Effect.gen(function* () {
    const received = yield* Deferred.make<string>()
    const port = yield* Effect.acquireRelease(
      Effect.async<{ readonly server: ReturnType<typeof createServer>; readonly port: number }>((resume) => {
        const server = createServer((socket) => {
          let body: string | undefined
          socket.setEncoding("utf8")
          socket.write("220 test\r\n")
          socket.on("data", (chunk: string) => {
            if (body !== undefined) {
              body += chunk
              if (!body.endsWith("\r\n.\r\n")) return
              Deferred.unsafeDone(received, Effect.succeed(body))
              body = undefined
              socket.write("250 taken\r\n")
              return
            }
            for (const line of chunk.split("\r\n").filter((text) => text !== "")) {
              if (/^RCPT/i.test(line)) socket.write(`${recipientAnswer}\r\n`)
              else if (/^DATA/i.test(line)) {
                body = ""
                socket.write("354 go on\r\n")
              } else socket.write("250 ok\r\n")
            }
          })
          socket.on("error", () => socket.destroy())
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" && address !== null ? address.port : 0
          resume(Effect.succeed({ server, port }))
        })
      }),
      ({ server }) => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
    )
    return { url: Redacted.make(`smtp://127.0.0.1:${port.port}`), received: Deferred.await(received) }
  })

const sendThrough = (url: Redacted.Redacted) =>
  Effect.flatMap(Mailer, (mailer) => mailer.send(mail)).pipe(
    Effect.provide(Mailer.layerSmtp(url, "Reins <reins@example.com>"))
  )

describe("Mailer", () => {
  it.scoped("the outbox holds each mail as one complete file of mode 0600, in the order of sending", () =>
    Effect.gen(function* () {
      const dir = join(yield* directory, "outbox")
      const layer = Mailer.layerOutbox(dir)
      yield* Effect.gen(function* () {
        const mailer = yield* Mailer
        for (const to of ["a@example.com", "b@example.com"]) yield* mailer.send({ ...mail, to })
        yield* TestClock.adjust("1 day")
        yield* mailer.send({ ...mail, to: "c@example.com" })
      }).pipe(Effect.provide(layer))
      const names = readdirSync(dir).sort()
      assert.strictEqual(names.length, 3)
      const texts = names.map((name) => readFileSync(join(dir, name), "utf8"))
      for (const [index, address] of ["a@example.com", "b@example.com", "c@example.com"].entries()) {
        const text = texts[index] ?? ""
        assert.match(names[index] ?? "", /^\d{8}T\d{9}Z-\d{6}-[0-9a-f]{8}\.eml$/)
        assert.match(text, /^From: Reins <reins@localhost>\r$/m)
        assert.include(text, `\r\nTo: ${address}\r\n`)
        assert.include(text, "\r\n\r\nHello,\r\n\r\nopen this:\r\nhttps://x/verify?abc-_1\r\n")
      }
      assert.deepStrictEqual(new Set(names.map((name) => statSync(join(dir, name)).mode & 0o777)), new Set([0o600]))
      assert.strictEqual(statSync(dir).mode & 0o777, 0o700)
    })
  )

  it.scoped("the log says where a mail lies and nothing of what it says", () =>
    Effect.gen(function* () {
      const dir = yield* directory
      const lines: Array<string> = []
      const logger = Logger.make(({ annotations, message }) => {
        lines.push(JSON.stringify([message, [...annotations]]))
      })
      yield* Effect.flatMap(Mailer, (mailer) => mailer.send(mail)).pipe(
        Effect.provide(Mailer.layerOutbox(dir)),
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
      const log = lines.join("\n")
      assert.include(log, join(dir, readdirSync(dir)[0] ?? "nothing"))
      for (const secret of ["abc-_1", "ada@example.com"]) assert.notInclude(log, secret)
    })
  )

  it.scoped("an address that tries to be two reaches no second person", () =>
    Effect.gen(function* () {
      const dir = yield* directory
      yield* Effect.flatMap(Mailer, (mailer) =>
        Effect.exit(mailer.send({ ...mail, to: "a@example.com, b@example.com", subject: "x\r\nBcc: c@example.com" }))
      ).pipe(Effect.provide(Mailer.layerOutbox(dir)))
      for (const name of readdirSync(dir)) {
        const head = readFileSync(join(dir, name), "utf8").split("\r\n\r\n")[0] ?? ""
        assert.notMatch(head, /^Bcc:/im)
        assert.notMatch(head, /^To:.*,\s*b@example\.com/im)
      }
    })
  )

  it.live("a mail server gets the mail as it is", () =>
    Effect.gen(function* () {
      const server = yield* mailServer("250 ok")
      yield* sendThrough(server.url)
      const text = yield* server.received
      assert.include(text, "From: Reins <reins@example.com>")
      assert.include(text, "To: ada@example.com")
      assert.include(text, "https://x/verify?abc-_1")
    }).pipe(Effect.scoped)
  )

  it.live("a refusal for good is not tried again, a refusal for now is", () =>
    Effect.gen(function* () {
      for (const [answer, code, retryable] of [
        ["550 no such user ada@example.com", "smtp_550", false],
        ["451 come back later", "smtp_451", true]
      ] as const) {
        const server = yield* mailServer(answer)
        const error = yield* Effect.flip(sendThrough(server.url))
        assert.deepStrictEqual([error.code, error.retryable], [code, retryable])
        assert.notInclude(JSON.stringify(error), "ada@example.com")
      }
    }).pipe(Effect.scoped)
  )

  it.live("a mail server that is not there is tried again, and its password is not told", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(sendThrough(Redacted.make("smtp://user:hunter-canary@127.0.0.1:1")))
      assert.strictEqual(error.retryable, true)
      assert.notInclude(`${JSON.stringify(error)} ${String(error)}`, "hunter-canary")
    })
  )
})
