import { assert, describe, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { Effect, Logger } from "effect"
import { linkIn, mailTo, serviceWithMails, tokenIn } from "./Mails.js"
import { change, codeOf, newCaller, password, type Reply, send } from "./Service.js"

const newPassword = "the otter sleeps on its back"
let people = 0
const newEmail = () => `reader${++people}@example.com`

const register = Effect.gen(function* () {
  const email = newEmail()
  yield* change("POST", "/api/auth/register", { body: { email, password } })
  return { email, link: linkIn(yield* mailTo(email)) }
})

/** The request that a browser sends for a form: the fields, and the origin of the page. */
const submit = (
  page: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = { "sec-fetch-site": "same-origin", origin: "null" }
) =>
  send("POST", page, {
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers }
  })

const logIn = (email: string, given: string) => change("POST", "/api/auth/login", { body: { email, password: given } })

/** The fields of the form on a page, as a browser without JavaScript would send them. */
const fieldsOf = (reply: Reply) =>
  Object.fromEntries(
    [...reply.text.matchAll(/<input[^>]* name="(\w+)"(?:[^>]* value="([^"]*)")?/g)].map(([, name, value]) => [
      name ?? "",
      value ?? ""
    ])
  )

const isSafe = (reply: Reply): void => {
  assert.strictEqual(reply.headers.get("content-type"), "text/html; charset=utf-8")
  assert.strictEqual(reply.headers.get("referrer-policy"), "no-referrer")
  assert.strictEqual(reply.headers.get("cache-control"), "no-store")
  assert.match(
    reply.headers.get("content-security-policy") ?? "",
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/
  )
  assert.notMatch(reply.text, /<script|javascript:|\son\w+=|https?:\/\//i)
  assert.match(reply.text, /<html lang="en">/)
  assert.strictEqual(reply.text.match(/<h1>/g)?.length, 1)
  // Everything that can be filled in has a label.
  for (const [, id] of reply.text.matchAll(/<input id="(\w+)"/g)) assert.include(reply.text, `<label for="${id}">`)
}

describe("pages without JavaScript", () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ annotations, message }) => {
    lines.push(JSON.stringify([message, ...annotations]))
  })

  layer(serviceWithMails({}, Logger.replace(Logger.defaultLogger, logger)), { excludeTestServices: true })((it) => {
    it.effect("the link of a mail shows a form that verifies the address when it is sent, once", () =>
      Effect.gen(function* () {
        const { email, link } = yield* register
        // Scanners of mail follow links, more than once.
        yield* send("GET", link)
        const page = yield* send("GET", link)
        assert.strictEqual(page.status, 200)
        isSafe(page)
        assert.strictEqual(codeOf(yield* logIn(email, password)), "email_unverified")
        const done = yield* submit("/verify", fieldsOf(page))
        assert.strictEqual(done.status, 200)
        isSafe(done)
        assert.include(done.text, "Your address is verified")
        assert.strictEqual((yield* logIn(email, password)).status, 200)
        const again = yield* submit("/verify", fieldsOf(page))
        assert.strictEqual(again.status, 410)
        isSafe(again)
        assert.include(again.text, 'role="alert"')
      })
    )

    it.effect("a link that is written with the name token works too", () =>
      Effect.gen(function* () {
        const { link } = yield* register
        const page = yield* send("GET", link.replace("?", "?utm_source=mail&token="))
        assert.strictEqual((yield* submit("/verify", fieldsOf(page))).status, 200)
      })
    )

    it.effect("without a token the page of verification sends a new link", () =>
      Effect.gen(function* () {
        const { email } = yield* register
        assert.deepStrictEqual(fieldsOf(yield* send("GET", "/verify")), { email: "" })
        const replies = [yield* submit("/verify", { email }), yield* submit("/verify", { email: newEmail() })]
        assert.deepStrictEqual(
          replies.map((reply) => reply.status),
          [200, 200]
        )
        assert.strictEqual(replies[0]?.text, replies[1]?.text)
        const token = tokenIn(yield* mailTo(email, 2))
        assert.strictEqual((yield* submit("/verify", { token })).status, 200)
        assert.strictEqual((yield* submit("/verify", { email: "no address" })).status, 422)
      })
    )

    it.effect("a forgotten password is replaced by forms alone, and whoever was logged in is out", () =>
      Effect.gen(function* () {
        const { email } = yield* newCaller()
        const login = yield* logIn(email, password)
        const cookie = login.headers
          .getSetCookie()
          .map((text) => text.split(";")[0])
          .join("; ")
        const ask = yield* send("GET", "/reset")
        isSafe(ask)
        const [sent, other] = [yield* submit("/reset", { email }), yield* submit("/reset", { email: newEmail() })]
        assert.deepStrictEqual([sent.status, sent.text], [200, other.text])
        const link = linkIn(yield* mailTo(email))
        const page = yield* send("GET", link)
        isSafe(page)
        const fields = fieldsOf(page)
        assert.hasAllKeys(fields, ["token", "new_password", "repeated"])
        const differing = yield* submit("/reset", { ...fields, new_password: newPassword, repeated: "another one" })
        const weak = yield* submit("/reset", { ...fields, new_password: "password1", repeated: "password1" })
        for (const reply of [differing, weak]) {
          assert.strictEqual(reply.status, 422)
          isSafe(reply)
          assert.include(reply.text, 'role="alert"')
          assert.strictEqual(fieldsOf(reply)["token"], fields["token"])
          assert.notInclude(reply.text, newPassword)
          assert.notInclude(reply.text, "password1")
        }
        const done = yield* submit("/reset", { ...fields, new_password: newPassword, repeated: newPassword })
        assert.strictEqual(done.status, 200)
        assert.deepStrictEqual(done.headers.getSetCookie(), [])
        assert.strictEqual((yield* send("GET", "/api/me", { headers: { cookie } })).status, 401)
        assert.strictEqual((yield* logIn(email, password)).status, 401)
        assert.strictEqual((yield* logIn(email, newPassword)).status, 200)
        const again = yield* submit("/reset", { ...fields, new_password: newPassword, repeated: newPassword })
        assert.strictEqual(again.status, 410)
        assert.include(yield* mailTo(email, 2), "Subject: Your password was changed")
      })
    )

    it.effect("a form of another site is refused; a browser that sends no Sec-Fetch-Site or no Origin is served", () =>
      Effect.gen(function* () {
        const { url } = yield* Server
        const { link } = yield* register
        const token = link.split("?")[1] ?? ""
        const foreign = [
          { "sec-fetch-site": "cross-site" },
          { "sec-fetch-site": "same-site", origin: "null" },
          { origin: "https://evil.example" }
        ]
        for (const headers of foreign) {
          const reply = yield* submit("/verify", { token }, headers)
          assert.strictEqual(reply.status, 403)
          isSafe(reply)
        }
        for (const headers of [{ origin: url }, { origin: "null" }, {}]) {
          assert.strictEqual((yield* submit("/verify", { email: newEmail() }, headers)).status, 200)
        }
        assert.strictEqual((yield* submit("/verify", { token })).status, 200)
      })
    )

    it.effect("what a link says is shown as text and never as markup", () =>
      Effect.gen(function* () {
        for (const page of ["verify", "reset", "join"]) {
          const reply = yield* send("GET", `/${page}?token=${encodeURIComponent('"><script>alert(1)</script>')}`)
          assert.strictEqual(reply.status, 200)
          isSafe(reply)
        }
      })
    )

    it.effect("only forms are taken, of no great size, and other methods are told so", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* send("POST", "/verify", { body: { token: "x" } })).status, 415)
        assert.strictEqual((yield* submit("/verify", { token: "x".repeat(20_000) })).status, 413)
        const deleted = yield* send("DELETE", "/verify")
        assert.deepStrictEqual([deleted.status, deleted.headers.get("allow")], [405, "GET, POST, HEAD, OPTIONS"])
      })
    )

    it.effect("an invitation is accepted by its page, after an account was made if need be", () =>
      Effect.gen(function* () {
        const owner = yield* newCaller()
        const list = yield* send("GET", "/api/workspaces", { headers: owner.bearer })
        const workspace = /wsp_\w+/.exec(list.text)?.[0] ?? ""
        const email = newEmail()
        const path = `/api/workspaces/${workspace}/members`
        const invited = yield* change("POST", path, { headers: owner.bearer, body: { email, role: "member" } })
        assert.strictEqual(invited.status, 202)
        assert.nestedPropertyVal(invited.json, "state", "invited")
        const page = yield* send("GET", linkIn(yield* mailTo(email)))
        isSafe(page)
        assert.strictEqual((yield* submit("/join", fieldsOf(page))).status, 403)
        yield* change("POST", "/api/auth/register", { body: { email, password } })
        yield* submit("/verify", { token: tokenIn(yield* mailTo(email, 2)) })
        assert.strictEqual((yield* submit("/join", fieldsOf(page))).status, 200)
        assert.strictEqual((yield* submit("/join", fieldsOf(page))).status, 410)
        const members = yield* send("GET", path, { headers: owner.bearer })
        assert.include(members.text, '"role":"member","state":"active"')
      })
    )

    it.effect("no token and no password of all this stands in the log", () =>
      Effect.gen(function* () {
        const { link } = yield* register
        const token = link.split("?")[1] ?? ""
        const before = lines.length
        yield* send("GET", `${link}&broken=%`)
        yield* send("DELETE", link)
        yield* submit(link, { token, new_password: "canary-password" })
        yield* submit(`/reset?${token}`, { token, new_password: "canary-password", repeated: "canary-password" })
        const log = lines.slice(before).join("\n")
        assert.include(log, "/verify")
        for (const secret of [token, "canary-password"]) assert.notInclude(lines.join("\n"), secret)
      })
    )
  })
})
