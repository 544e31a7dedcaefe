import net from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Mailer } from "@reins/core/identity/Mailer"
import * as SmtpMailer from "@reins/core/identity/SmtpMailer"
import { tryBorder } from "@reins/testing/world/Border"
import { Effect, Either, Redacted } from "effect"

/** The replies of a mail server, in the order of a mail. */
const plain = {
  greeting: "220 mail.example ESMTP",
  hello: "250-mail.example\r\n250-8BITMIME\r\n250 SIZE 10000000",
  from: "250 2.1.0 Ok",
  to: "250 2.1.5 Ok",
  data: "354 Go ahead",
  end: "250 2.0.0 Queued"
}
type Step = keyof typeof plain
const steps: ReadonlyArray<Step> = ["greeting", "hello", "from", "to", "data", "end"]

/** One way in which a reply may come otherwise. `cut` breaks the connection behind it. */
interface Spoken {
  readonly text: string
  readonly pauseMs?: number
  readonly cut?: boolean
}

/** The part of the truth that is left: the mail is taken, it is not, or either may be so. */
type Outcome = "taken" | "refused" | "any"

const ways: ReadonlyArray<readonly [name: string, outcome: Outcome, edit: (text: string) => Spoken]> = [
  ["in two halves, 80 ms between", "taken", (text) => ({ text, pauseMs: 80 })],
  ["in several lines", "taken", (text) => ({ text: `${text.slice(0, 3)}-One moment\r\n${text}` })],
  ["with bare line feeds", "any", (text) => ({ text: text.replaceAll("\r\n", "\n") })],
  ["of all alphabets", "taken", (text) => ({ text: text.replace(/ [^\r]*$/, " 名前 имя اسم 🙂") })],
  ["with control and turned characters", "any", (text) => ({ text: `${text}\u0007\u001b[31m\u202e` })],
  ["of 10,000 characters", "taken", (text) => ({ text: text + "a.".repeat(5000) })],
  ["with its code alone", "any", (text) => ({ text: text.slice(0, 3) })],
  ["without a code", "any", () => ({ text: "Welcome" })],
  ["in capitals", "any", (text) => ({ text: text.toUpperCase() })],
  ["cut off in its middle", "refused", (text) => ({ text: text.slice(0, text.length / 2), cut: true })],
  ["cut off before it", "refused", () => ({ text: "", cut: true })],
  ["421 too busy", "refused", () => ({ text: "421 4.7.0 Try again later", cut: true })],
  ["450 grey listed", "refused", () => ({ text: "450 4.2.0 Greylisted" })],
  ["451 local error", "refused", () => ({ text: "451 4.3.0 Local error" })],
  ["530 login first", "refused", () => ({ text: "530 5.7.0 Authentication required" })],
  ["550 no such user", "refused", () => ({ text: "550-5.1.1 No such user:\r\n550 5.1.1 ada@example.com" })],
  ["554 refused", "refused", () => ({ text: "554 5.7.1 Refused" })],
  ["an unknown code", "any", () => ({ text: "299 Perhaps" })],
  ["a code of four digits", "any", () => ({ text: "2500 Ok" })],
  ["a page of HTTP", "any", () => ({ text: "HTTP/1.1 400 Bad Request\r\n\r\n<html></html>", cut: true })]
]

interface Talk {
  said: Readonly<Partial<Record<Step, Spoken>>>
  /** True once a server has said that it has the mail. */
  taken: boolean
}

/** A mail server that says what it is told. */
const mailServer = Effect.gen(function* () {
  const talk: Talk = { said: {}, taken: false }
  const server = yield* Effect.acquireRelease(
    Effect.async<net.Server>((resume) => {
      const made = net.createServer((socket) => {
        const say = async (step: Step) => {
          const { cut = false, pauseMs, text } = talk.said[step] ?? { text: plain[step] }
          if (step === "end") talk.taken = true
          const whole = cut ? text : `${text}\r\n`
          const half = Math.floor(whole.length / 2)
          if (pauseMs === undefined) socket.write(whole)
          else {
            socket.write(whole.slice(0, half))
            await new Promise((done) => setTimeout(done, pauseMs))
            socket.write(whole.slice(half))
          }
          if (cut) socket.end()
        }
        let isData = false
        let rest = ""
        socket.on("error", () => undefined)
        socket.on("data", (chunk) => {
          rest += chunk.toString("latin1")
          for (let at = rest.indexOf("\r\n"); at >= 0; at = rest.indexOf("\r\n")) {
            const line = rest.slice(0, at)
            rest = rest.slice(at + 2)
            if (isData) {
              if (line !== ".") continue
              isData = false
              void say("end")
            } else if (/^(?:EHLO|HELO)/i.test(line)) void say("hello")
            else if (/^MAIL/i.test(line)) void say("from")
            else if (/^RCPT/i.test(line)) void say("to")
            else if (/^DATA/i.test(line)) {
              isData = /^[23]/.test(talk.said.data?.text ?? plain.data)
              void say("data")
            } else if (/^QUIT/i.test(line)) socket.end("221 Bye\r\n")
            else socket.write("502 5.5.1 Unknown command\r\n")
          }
        })
        void say("greeting")
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) => Effect.async<void>((resume) => void made.close(() => resume(Effect.void)))
  )
  const address = server.address()
  return { talk, port: typeof address === "object" && address !== null ? address.port : 0 }
})

const mail = { to: "ada@example.com", subject: "名前 ÄÖÜ", text: "Hello\n.\nBye" }

describe("the world of mail servers", () => {
  it.scopedLive(
    "their replies",
    () =>
      Effect.gen(function* () {
        const { port, talk } = yield* mailServer
        const all = steps.flatMap((step) =>
          ways.map(([way, outcome, edit]) => ({ step, outcome, spoken: edit(plain[step]), name: `${step} ${way}` }))
        )
        // The server answers the command that it has offered as one that it does not know.
        const offer = "250-mail.example\r\n250 STARTTLS"
        all.push({ step: "hello", outcome: "refused", spoken: { text: offer }, name: "hello offers TLS and has none" })
        const { tried, wrong } = yield* tryBorder({
          name: "mail servers: the replies",
          changes: all.map(({ name, outcome }) => ({
            name,
            kind:
              outcome === "taken"
                ? ("same" as const)
                : outcome === "refused"
                  ? ("lost" as const)
                  : ("element" as const),
            apply: (answer) => answer
          })),
          ask: (change) =>
            Effect.gen(function* () {
              const { outcome, spoken, step } = all.find(({ name }) => name === change.name) ?? assert.fail(change.name)
              const t0 = Date.now()
              yield* Effect.addFinalizer(() =>
                Effect.sync(() => Date.now() - t0 > 1500 && console.log("SLOW", change.name, Date.now() - t0))
              )
              Object.assign(talk, { said: { [step]: spoken }, taken: false })
              const sent = yield* Effect.either(
                Effect.flatMap(Mailer, (mailer) => mailer.send(mail, "key-1")).pipe(
                  Effect.provide(
                    SmtpMailer.layer(Redacted.make(`smtp://127.0.0.1:${port}`), "Reins <reins@example.com>")
                  )
                )
              )
              if (Either.isRight(sent)) {
                if (!talk.taken) return ["it counts as sent, and no server has it"]
                return outcome === "refused" ? ["it counts as sent, and was refused"] : []
              }
              const { code } = sent.left
              const problems = /^[\w-]{1,40}$/.test(code) ? [] : [`the code is ${JSON.stringify(code).slice(0, 100)}`]
              if (outcome === "taken") problems.push(`refused: ${code}`)
              return problems
            }).pipe(Effect.scoped)
        })
        assert.deepStrictEqual(wrong, [])
        assert.strictEqual(tried, all.length)
      }),
    120_000
  )
})
