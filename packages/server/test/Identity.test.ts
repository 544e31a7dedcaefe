import { HttpApi } from "@effect/platform"
import { assert, describe, layer } from "@effect/vitest"
import { RequiredScope } from "@reins/base/domain/Endpoint"
import type { Scope } from "@reins/base/domain/Scope"
import * as Token from "@reins/base/secrets/Token"
import { Api } from "@reins/core/Api"
import { Accounts } from "@reins/core/identity/Accounts"
import { Database } from "@reins/core/store/Database"
import { Context, Effect, Option, Redacted, Schema } from "effect"
import { mailTo, serviceWithMails, tokenIn } from "./Mails.js"
import { change, codeOf, newCaller, password, type Reply, send, service } from "./Service.js"

const newPassword = "the otter sleeps on its back"

const logInAs = (email: string, given = password) =>
  Effect.map(change("POST", "/api/auth/login", { body: { email, password: given } }), (reply) => {
    const cookie = reply.headers.getSetCookie().map((text) => text.split(";")[0])
    const csrf = decodeURIComponent(/reins_csrf_\w+=([^;]+)/.exec(cookie.join("; "))?.[1] ?? "")
    return { reply, headers: { cookie: cookie.join("; "), "x-csrf-token": csrf } }
  })

const workspaceOf = (bearer: { readonly authorization: string }) =>
  Effect.map(send("GET", "/api/workspaces", { headers: bearer }), ({ text }) => /wsp_\w+/.exec(text)?.[0] ?? "none")

const IssuedKey = Schema.Struct({ id: Schema.String, secret: Schema.String })

/** A key that somebody makes over HTTP. */
const newKeyOf = (headers: Readonly<Record<string, string>>, body: object) =>
  Effect.gen(function* () {
    const reply = yield* change("POST", "/api/api-keys", { headers, body: { name: "test", ...body } })
    const key = yield* Effect.orDie(Schema.decodeUnknown(IssuedKey)(reply.json))
    return { ...key, bearer: { authorization: `Bearer ${key.secret}` } }
  })

const outcome = (reply: Reply) => [reply.status, codeOf(reply)]

interface Call {
  readonly method: string
  readonly path: string
  readonly scope: Scope
}

/** Every operation that needs credentials, with ids that nothing has. */
const calls: ReadonlyArray<Call> = (() => {
  const found: Array<Call> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const scope = Option.getOrThrow(Context.getOption(endpoint.annotations, RequiredScope))
      if (scope !== "public")
        found.push({ method: endpoint.method, path: endpoint.path.replace(/:\w+/g, "none"), scope })
    }
  })
  return found
})()

const strength: Record<Scope, number> = { read: 0, act: 1, write: 2, admin: 3 }

describe("credentials", () => {
  layer(service(), { excludeTestServices: true })((it) => {
    it.effect("every operation refuses whoever has no credentials, and keys below its scope", () =>
      Effect.gen(function* () {
        const keys = yield* Effect.forEach(["read", "act", "write"] as const, (scope) =>
          Effect.map(newCaller([scope]), ({ bearer }) => ({ scope, bearer }))
        )
        for (const { method, path, scope } of calls) {
          assert.deepStrictEqual(outcome(yield* change(method, path)), [401, "unauthenticated"], `${method} ${path}`)
          for (const key of keys.filter((one) => strength[one.scope] < strength[scope])) {
            const reply = yield* change(method, path, { headers: key.bearer })
            assert.deepStrictEqual(outcome(reply), [403, "insufficient_scope"], `${key.scope}: ${method} ${path}`)
          }
        }
      })
    )

    it.effect("a read key reads and does not write, a write key writes and does not administer", () =>
      Effect.gen(function* () {
        const owner = yield* newCaller()
        const workspace = yield* workspaceOf(owner.bearer)
        const reader = yield* newKeyOf(owner.bearer, { scopes: ["read"] })
        const writer = yield* newKeyOf(owner.bearer, { scopes: ["write"] })
        const create = (headers: Readonly<Record<string, string>>) =>
          change("POST", `/api/workspaces/${workspace}/sessions`, { headers, body: { title: "x" } })
        assert.deepStrictEqual(outcome(yield* create(reader.bearer)), [403, "insufficient_scope"])
        assert.notInclude([401, 403], (yield* create(writer.bearer)).status)
        const listed = yield* send("GET", `/api/workspaces/${workspace}/members`, { headers: reader.bearer })
        assert.strictEqual(listed.status, 200)
        for (const [method, path, body] of [
          ["POST", "/api/api-keys", { name: "more" }],
          ["POST", `/api/workspaces/${workspace}/members`, { email: "a@example.com", role: "viewer" }],
          ["DELETE", `/api/workspaces/${workspace}/members/${owner.account.id}`, undefined],
          ["POST", "/api/auth/password-changes", { current_password: password, new_password: newPassword }]
        ] as const) {
          const reply = yield* change(method, path, { headers: writer.bearer, body })
          assert.deepStrictEqual(outcome(reply), [403, "insufficient_scope"], path)
        }
      })
    )

    it.effect("a revoked key is refused by the very next request, 100 times of 100", () =>
      Effect.gen(function* () {
        const owner = yield* newCaller()
        for (let time = 0; time < 100; time++) {
          const key = yield* newKeyOf(owner.bearer, { scopes: ["read"] })
          assert.strictEqual((yield* send("GET", "/api/me", { headers: key.bearer })).status, 200)
          yield* change("DELETE", `/api/api-keys/${key.id}`, { headers: owner.bearer })
          assert.strictEqual((yield* send("GET", "/api/me", { headers: key.bearer })).status, 401)
        }
      })
    )

    it.effect("a key with a bad checksum is refused without a look at the database", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const { bearer, id, secret } = yield* newKeyOf((yield* newCaller()).bearer, {})
        const changed = `rk_${secret[3] === "a" ? "b" : "a"}${secret.slice(4)}`
        // The database would know the changed secret, if it were asked.
        yield* db.run(db.sql`update api_keys set hash = ${Token.digest(Redacted.make(changed))} where id = ${id}`)
        const reply = yield* send("GET", "/api/me", { headers: { authorization: `Bearer ${changed}` } })
        assert.deepStrictEqual(outcome(reply), [401, "unauthenticated"])
        assert.strictEqual((yield* send("GET", "/api/me", { headers: bearer })).status, 401)
      })
    )

    it.effect("an expired key, an expired login and those of a disabled account are refused alike", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const accounts = yield* Accounts
        const owner = yield* newCaller()
        const login = yield* logInAs(owner.email)
        const key = yield* newKeyOf(owner.bearer, { expires_at: "2999-01-01T00:00:00.000Z" })
        const read = (headers: Readonly<Record<string, string>>) => send("GET", "/api/me", { headers })
        assert.deepStrictEqual([(yield* read(key.bearer)).status, (yield* read(login.headers)).status], [200, 200])
        const past = "2020-01-01T00:00:00.000Z"
        yield* db.run(db.sql`update api_keys set expires_at = ${past} where id = ${key.id}`)
        yield* db.run(db.sql`update login_sessions set expires_at = ${past} where account_id = ${owner.account.id}`)
        const disabled = yield* newCaller()
        const itsLogin = yield* logInAs(disabled.email)
        yield* accounts.disable(disabled.account.id)
        for (const headers of [key.bearer, login.headers, disabled.bearer, itsLogin.headers]) {
          assert.deepStrictEqual(outcome(yield* read(headers)), [401, "unauthenticated"])
        }
        assert.deepStrictEqual(outcome((yield* logInAs(disabled.email)).reply), [401, "invalid_credentials"])
      })
    )

    it.effect("a key for one workspace sees no other one, and stops with the membership", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const owner = yield* newCaller()
        const guest = yield* newCaller()
        const [own, foreign] = [yield* workspaceOf(guest.bearer), yield* workspaceOf(owner.bearer)]
        const created_at = "2020-01-01T00:00:00.000Z"
        const member = { workspace_id: foreign, account_id: guest.account.id, role: "member", created_at }
        yield* db.run(db.sql`insert into workspace_members ${db.sql.insert(member)}`)
        const key = yield* newKeyOf(guest.bearer, { workspace_id: foreign })
        const read = (path: string) => send("GET", path, { headers: key.bearer })
        assert.strictEqual((yield* read(`/api/workspaces/${foreign}`)).status, 200)
        const [hidden, absent] = [yield* read(`/api/workspaces/${own}`), yield* read("/api/workspaces/wsp_none")]
        assert.deepStrictEqual(outcome(hidden), [404, "not_found"])
        assert.deepStrictEqual(outcome(absent), outcome(hidden))
        const removed = yield* change("DELETE", `/api/workspaces/${foreign}/members/${guest.account.id}`, {
          headers: owner.bearer
        })
        assert.strictEqual(removed.status, 200)
        assert.deepStrictEqual(outcome(yield* read("/api/me")), [401, "unauthenticated"])
        const other = yield* send("GET", `/api/workspaces/${foreign}`, { headers: guest.bearer })
        assert.deepStrictEqual(outcome(other), [404, "not_found"])
      })
    )
  })
})

describe("passwords", () => {
  layer(serviceWithMails(), { excludeTestServices: true })((it) => {
    const body = { current_password: password, new_password: newPassword }

    it.effect(
      "a change needs the CSRF token and the current password, keeps the present login and ends the others",
      () =>
        Effect.gen(function* () {
          const { email } = yield* newCaller()
          const [present, other] = [yield* logInAs(email), yield* logInAs(email)]
          const path = "/api/auth/password-changes"
          const stolen = { ...present.headers, "x-csrf-token": other.headers["x-csrf-token"] }
          assert.deepStrictEqual(outcome(yield* change("POST", path, { headers: stolen, body })), [403, "csrf_failed"])
          const wrong = { ...body, current_password: "canary-password" }
          const refused = yield* change("POST", path, { headers: present.headers, body: wrong })
          assert.deepStrictEqual(outcome(refused), [401, "invalid_credentials"])
          const malformed = yield* change("POST", path, {
            headers: present.headers,
            body: { ...wrong, new_password: "canary" }
          })
          assert.strictEqual(malformed.status, 422)
          assert.notInclude(refused.text + malformed.text, "canary")
          const headers = { ...present.headers, "idempotency-key": email }
          const changed = yield* send("POST", path, { headers, body })
          assert.deepStrictEqual([changed.status, changed.json], [200, { status: "changed", sessions_revoked: 1 }])
          const again = yield* send("POST", path, { headers, body })
          assert.deepStrictEqual([again.text, again.headers.get("idempotency-replayed")], [changed.text, "true"])
          const me = (login: typeof present) => send("GET", "/api/me", { headers: login.headers })
          assert.deepStrictEqual([(yield* me(present)).status, (yield* me(other)).status], [200, 401])
          assert.strictEqual((yield* logInAs(email)).reply.status, 401)
          assert.strictEqual((yield* logInAs(email, newPassword)).reply.status, 200)
        })
    )

    it.effect("a reset by the mailed token ends every login, and the token is good once", () =>
      Effect.gen(function* () {
        const { email } = yield* newCaller()
        const logins = [yield* logInAs(email), yield* logInAs(email)]
        const path = "/api/auth/password-resets"
        const asked = yield* change("POST", path, { body: { email } })
        assert.deepStrictEqual([asked.status, asked.json], [200, { status: "accepted" }])
        const token = tokenIn(yield* mailTo(email))
        const set = { token, new_password: newPassword }
        assert.strictEqual((yield* change("POST", path, { body: { token } })).status, 422)
        assert.strictEqual((yield* change("POST", path, { body: { ...set, email } })).status, 422)
        const done = yield* change("POST", path, { body: set })
        assert.deepStrictEqual([done.status, done.json, done.headers.getSetCookie()], [200, { status: "reset" }, []])
        for (const { headers } of logins) assert.strictEqual((yield* send("GET", "/api/me", { headers })).status, 401)
        assert.deepStrictEqual(outcome(yield* change("POST", path, { body: set })), [410, "token_expired"])
        assert.strictEqual((yield* logInAs(email, newPassword)).reply.status, 200)
      })
    )

    it.effect("no answer to register, login or reset tells whether an address has an account", () =>
      Effect.gen(function* () {
        const { email } = yield* newCaller()
        const unknown = `nobody-${email}`
        const seen = ({ headers, status, text }: Reply) => ({
          status,
          text: text.replace(/"request_id":"[^"]*"/, ""),
          headers: [...headers].filter(([name]) => !["x-request-id", "date", "set-cookie"].includes(name))
        })
        for (const [path, rest] of [
          ["login", { password: "not the one" }],
          ["password-resets", {}],
          ["email-verifications", {}],
          ["register", { password: newPassword }]
        ] as const) {
          const [one, other] = yield* Effect.forEach([email, unknown], (address) =>
            change("POST", `/api/auth/${path}`, { body: { email: address, ...rest } })
          )
          if (one === undefined || other === undefined) return assert.fail("no answer")
          assert.deepStrictEqual(seen(one), seen(other), path)
        }
      })
    )
  })
})

describe("limits", () => {
  layer(service({ rateLimit: 1000 }), { excludeTestServices: true })((it) => {
    it.effect(
      "too many failed logins are answered with when to come back, also for an address without an account",
      () =>
        Effect.gen(function* () {
          const { email } = yield* newCaller()
          for (const address of [email, `nobody-${email}`]) {
            for (let time = 0; time < 10; time++) {
              assert.strictEqual((yield* logInAs(address, "not the one")).reply.status, 401)
            }
            const { reply } = yield* logInAs(address)
            assert.deepStrictEqual(outcome(reply), [429, "rate_limited"])
            const seconds = Number(reply.headers.get("retry-after"))
            assert.isTrue(seconds > 800 && seconds <= 900, String(seconds))
            assert.strictEqual(reply.headers.get("ratelimit-policy"), '"login";q=10;w=900')
            assert.strictEqual(reply.headers.get("ratelimit"), `"login";r=0;t=${seconds}`)
          }
        })
    )
  })
})
