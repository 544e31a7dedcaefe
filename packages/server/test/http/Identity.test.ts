import { assert, describe, it, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { Effect, Layer } from "effect"
import { change, codeOf, newCaller, password, type Reply, send, service } from "../Service.js"

const cookiesOf = (reply: Reply): ReadonlyArray<string> => reply.headers.getSetCookie()

/** Somebody who has logged in with a browser. */
const logIn = Effect.gen(function* () {
  const caller = yield* newCaller()
  const reply = yield* change("POST", "/api/auth/login", { body: { email: caller.email, password } })
  const cookie = cookiesOf(reply)
    .map((text) => text.split(";")[0])
    .join("; ")
  const csrf = /reins_csrf_\w+=([^;]+)/.exec(cookie)?.[1] ?? ""
  return { ...caller, reply, cookie, csrf }
})

const keysFrom = (from: number, names: number) => Array.from({ length: names }, (_, index) => `name${from + index}`)

describe("over plain http", () => {
  layer(service(), { excludeTestServices: true })((it) => {
    it.effect("no credentials, bad ones and ended ones are 401 with a challenge", () =>
      Effect.gen(function* () {
        const { bearer, key } = yield* newCaller()
        const cases = [
          {},
          { authorization: "Bearer rk_x" },
          { authorization: "Bearer" },
          { cookie: "reins_session=x" },
          { authorization: "Basic YTpi" }
        ]
        for (const headers of cases) {
          const reply = yield* send("GET", "/api/me", { headers })
          assert.deepStrictEqual([reply.status, codeOf(reply)], [401, "unauthenticated"])
          assert.strictEqual(reply.headers.get("www-authenticate"), "Bearer")
          assert.strictEqual(reply.headers.get("x-should-retry"), "false")
        }
        assert.strictEqual((yield* change("DELETE", `/api/api-keys/${key.id}`, { headers: bearer })).status, 200)
        assert.strictEqual((yield* send("GET", "/api/me", { headers: bearer })).status, 401)
      })
    )

    it.effect("credentials are asked for before anything else of the request is looked at", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* send("POST", "/api/api-keys", { body: "{" })).status, 401)
        assert.strictEqual((yield* send("GET", "/api/sessions/sess_x/events?limit=x")).status, 401)
      })
    )

    it.effect("a key may do what its scopes say, and no more", () =>
      Effect.gen(function* () {
        const { bearer } = yield* newCaller(["read"])
        assert.strictEqual((yield* send("GET", "/api/me", { headers: bearer })).status, 200)
        for (const [method, path] of [
          ["POST", "/api/api-keys"],
          ["GET", "/api/api-keys"],
          ["POST", "/api/sessions/sess_x/archives"]
        ] as const) {
          const reply = yield* change(method, path, { headers: bearer })
          assert.deepStrictEqual([reply.status, codeOf(reply)], [403, "insufficient_scope"], path)
        }
      })
    )

    it.effect("the login cookie is HttpOnly and Lax, and the CSRF cookie can be read", () =>
      Effect.gen(function* () {
        const { csrf, reply } = yield* logIn
        assert.strictEqual(reply.status, 200)
        const [session = "", token = ""] = cookiesOf(reply)
        assert.match(session, /^reins_session_[0-9a-f]{8}=[\w%-]+; /)
        for (const part of ["HttpOnly", "SameSite=Lax", "Path=/", "Expires="]) assert.include(session, part)
        assert.notInclude(session, "Secure")
        assert.match(token, /^reins_csrf_[0-9a-f]{8}=/)
        assert.notInclude(token, "HttpOnly")
        assert.nestedPropertyVal(reply.json, "csrf_token", decodeURIComponent(csrf))
      })
    )

    it.effect("a change by cookie needs the CSRF token of this very login", () =>
      Effect.gen(function* () {
        const one = yield* logIn
        const other = yield* logIn
        const create = (headers: Readonly<Record<string, string>>) =>
          change("POST", "/api/api-keys", { headers, body: { name: "by cookie" } })
        for (const token of [undefined, "", "x", decodeURIComponent(other.csrf)]) {
          const reply = yield* create({ cookie: one.cookie, ...(token !== undefined && { "x-csrf-token": token }) })
          assert.deepStrictEqual([reply.status, codeOf(reply)], [403, "csrf_failed"])
        }
        assert.strictEqual(
          (yield* create({ cookie: one.cookie, "x-csrf-token": decodeURIComponent(one.csrf) })).status,
          201
        )
        assert.strictEqual((yield* send("GET", "/api/me", { headers: { cookie: one.cookie } })).status, 200)
      })
    )

    it.effect("a page of another site can neither change anything by cookie nor log anybody in", () =>
      Effect.gen(function* () {
        const { bearer, cookie, csrf, email } = yield* logIn
        const { url } = yield* Server
        const own = { cookie, "x-csrf-token": decodeURIComponent(csrf) }
        for (const foreign of [
          { "sec-fetch-site": "cross-site" },
          { origin: "https://evil.example" },
          { origin: "null" }
        ]) {
          const reply = yield* change("POST", "/api/auth/logout", { headers: { ...own, ...foreign } })
          assert.deepStrictEqual([reply.status, codeOf(reply)], [403, "csrf_failed"])
          const login = yield* change("POST", "/api/auth/login", { headers: foreign, body: { email, password } })
          assert.deepStrictEqual([login.status, codeOf(login)], [403, "csrf_failed"])
          assert.strictEqual(
            (yield* change("POST", "/api/auth/logout", { headers: { ...bearer, ...foreign } })).status,
            204
          )
        }
        assert.strictEqual(
          (yield* change("POST", "/api/api-keys", { headers: { ...own, origin: url }, body: { name: "a" } })).status,
          201
        )
      })
    )

    it.effect("with a bearer the cookie is ignored, also when the bearer is bad", () =>
      Effect.gen(function* () {
        const one = yield* logIn
        const other = yield* newCaller()
        const mixed = yield* send("GET", "/api/me", { headers: { cookie: one.cookie, ...other.bearer } })
        assert.nestedPropertyVal(mixed.json, "account.email", other.email)
        assert.strictEqual(
          (yield* send("GET", "/api/me", { headers: { cookie: one.cookie, authorization: "Bearer rk_bad" } })).status,
          401
        )
        assert.strictEqual(
          (yield* change("POST", "/api/api-keys", {
            headers: { cookie: one.cookie, ...other.bearer },
            body: { name: "a" }
          })).status,
          201
        )
      })
    )

    it.effect("logging out ends the login on the server and takes the cookies away", () =>
      Effect.gen(function* () {
        const { cookie, csrf } = yield* logIn
        const reply = yield* change("POST", "/api/auth/logout", {
          headers: { cookie, "x-csrf-token": decodeURIComponent(csrf) }
        })
        assert.deepStrictEqual([reply.status, reply.text], [204, ""])
        assert.isTrue(cookiesOf(reply).every((text) => text.includes("Expires=Thu, 01 Jan 1970")))
        assert.strictEqual((yield* send("GET", "/api/me", { headers: { cookie } })).status, 401)
      })
    )

    it.effect("a repeated login is a login of its own, not a replay", () =>
      Effect.gen(function* () {
        const { email } = yield* newCaller()
        const once = { headers: { "idempotency-key": "the same" }, body: { email, password } }
        const first = yield* send("POST", "/api/auth/login", once)
        const again = yield* send("POST", "/api/auth/login", once)
        assert.deepStrictEqual([first.status, again.status], [200, 200])
        assert.notDeepEqual(cookiesOf(again), cookiesOf(first))
      })
    )

    it.effect("a wrong password is 401 and told of without the password", () =>
      Effect.gen(function* () {
        const { email } = yield* newCaller()
        const reply = yield* change("POST", "/api/auth/login", { body: { email, password: "canary-password" } })
        assert.deepStrictEqual([reply.status, codeOf(reply)], [401, "invalid_credentials"])
        const malformed = yield* change("POST", "/api/auth/login", { body: { password: "canary-password" } })
        assert.strictEqual(malformed.status, 422)
        assert.notInclude(reply.text + malformed.text, "canary-password")
      })
    )
  })
})

describe("reached over https", () => {
  layer(service({ publicUrl: new URL("https://reins.example.com") }), { excludeTestServices: true })((it) => {
    it.effect("the cookie carries the __Host- prefix and Secure, and answers say to stay on https", () =>
      Effect.gen(function* () {
        const { cookie, reply } = yield* logIn
        const [session = ""] = cookiesOf(reply)
        assert.match(session, /^__Host-reins_session_[0-9a-f]{8}=/)
        assert.include(session, "Secure")
        assert.include(reply.headers.get("strict-transport-security"), "max-age=31536000")
        assert.strictEqual((yield* send("GET", "/api/me", { headers: { cookie } })).status, 200)
        assert.strictEqual(
          (yield* send("GET", "/api/me", { headers: { cookie: cookie.replace("__Host-", "") } })).status,
          401
        )
      })
    )

    it.effect("the public origin is no other site", () =>
      Effect.gen(function* () {
        const { cookie, csrf } = yield* logIn
        const headers = { cookie, "x-csrf-token": decodeURIComponent(csrf), origin: "https://reins.example.com" }
        assert.strictEqual((yield* change("POST", "/api/auth/logout", { headers })).status, 204)
      })
    )
  })
})

describe("two installations of one host", () => {
  /** The cookies that a browser has after it has logged in at each of them, in one jar, because ports do not separate cookies. */
  const jarOf = (urls: ReadonlyArray<URL | undefined>) =>
    Effect.forEach(urls, (publicUrl) =>
      Effect.scoped(Effect.provide(logIn, Layer.fresh(service(publicUrl && { publicUrl }))))
    )

  const pairs: ReadonlyArray<readonly [string, ReadonlyArray<URL | undefined>]> = [
    ["at two ports", [new URL("http://nas:7117"), new URL("http://nas:8117")]],
    ["at one public URL, as of containers without one", [undefined, undefined]],
    ["below two paths", [new URL("https://example.com/one"), new URL("https://example.com/two/")]],
    ["at the root and below it", [new URL("https://example.com"), new URL("https://example.com/two")]]
  ]
  for (const [where, urls] of pairs)
    it.scopedLive(`${where} have other names for their cookies, which go to their paths alone`, () =>
      Effect.gen(function* () {
        const logins = yield* jarOf(urls)
        const set = logins.flatMap(({ reply }) => cookiesOf(reply))
        assert.strictEqual(new Set(set.map((text) => text.split("=")[0])).size, 4)
        for (const [index, url] of urls.entries()) {
          const path = url?.pathname.replace(/(.)\/$/, "$1") ?? "/"
          const [session = "", csrf = ""] = set.slice(2 * index)
          for (const text of [session, csrf]) assert.include(`${text};`, `; Path=${path};`)
          if (url?.protocol === "https:") assert.match(session, path === "/" ? /^__Host-/ : /^__Secure-/)
        }
      })
    )

  it.scopedLive("keep a login each in one browser", () =>
    Effect.gen(function* () {
      const publicUrl = new URL("https://example.com/one")
      const [other] = yield* jarOf([new URL("https://example.com/two")])
      yield* Effect.gen(function* () {
        const own = yield* logIn
        const cookie = `${other?.cookie}; ${own.cookie}`
        const headers = { cookie, "x-csrf-token": decodeURIComponent(own.csrf) }
        assert.strictEqual((yield* send("GET", "/api/me", { headers })).status, 200)
        assert.strictEqual((yield* change("POST", "/api/auth/logout", { headers })).status, 204)
        const foreign = { cookie: other?.cookie ?? "" }
        assert.strictEqual((yield* send("GET", "/api/me", { headers: foreign })).status, 401)
      }).pipe(Effect.provide(Layer.fresh(service({ publicUrl }))))
    })
  )
})

describe("with a rate limit", () => {
  layer(service({ rateLimit: 20 }), { excludeTestServices: true })((it) => {
    it.effect("each caller has a bucket of its own, and is told how full it is", () =>
      Effect.gen(function* () {
        const one = yield* newCaller()
        const other = yield* newCaller()
        const replies = yield* Effect.forEach(keysFrom(0, 25), () => send("GET", "/api/me", { headers: one.bearer }))
        const limited = replies.filter((reply) => reply.status === 429)
        assert.isAtLeast(limited.length, 3)
        assert.deepStrictEqual([...new Set(replies.map((reply) => reply.status))], [200, 429])
        for (const reply of replies) {
          assert.strictEqual(reply.headers.get("ratelimit-policy"), '"default";q=20;w=60')
          assert.match(reply.headers.get("ratelimit") ?? "", /^"default";r=\d+;t=\d+$/)
        }
        assert.strictEqual(limited[0] && codeOf(limited[0]), "rate_limited")
        assert.strictEqual(limited[0]?.headers.get("x-should-retry"), "true")
        assert.isAtLeast(Number(limited[0]?.headers.get("retry-after")), 1)
        assert.strictEqual((yield* send("GET", "/api/me", { headers: other.bearer })).status, 200)
      })
    )

    it.effect("whoever does not say who it is counts by address", () =>
      Effect.gen(function* () {
        const replies = yield* Effect.forEach(keysFrom(0, 25), (name) =>
          send("GET", "/api/me", { headers: { authorization: `Bearer ${name}` } })
        )
        assert.deepStrictEqual([...new Set(replies.map((reply) => reply.status))], [401, 429])
      })
    )
  })
})
