import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { password, send } from "../Service.js"
import {
  callback,
  decide,
  errorOf,
  hiddenOf,
  newPerson,
  newPkce,
  register,
  requestOf,
  sameSite,
  visit
} from "./OauthPerson.js"
import { issuer, oauthServices } from "./OauthService.js"

for (const { database, layer: onDatabase } of oauthServices())
  describe(`OAuth, the page of consent, on ${database}`, () => {
    layer(onDatabase, { excludeTestServices: true })((it) => {
      it.effect("sends nobody to an address that the app did not name, whatever is wrong with the request", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const { clientId } = yield* register({
            redirect_uris: [callback, "https://app.example/cb", "cursor://anysphere/cb"]
          })
          const { challenge } = newPkce()
          const addresses = [
            "https://evil.example/cb",
            "https://app.example/cb/",
            "https://app.example/cb?x=1",
            "https://app.example/cb#x",
            "https://app.example/cb/../evil",
            "https://app.example.evil.example/cb",
            "https://app.example@evil.example/cb",
            "https://app.example:443@evil.example/cb",
            "https://APP.example/cb",
            "http://app.example/cb",
            "https://app.example:8443/cb",
            "https://app.example\\@evil.example/cb",
            "https:app.example/cb",
            "//app.example/cb",
            "/oauth/authorize",
            "javascript:alert(1)",
            "data:text/html,x",
            "cursor://anysphere/other",
            "cursor://anysphere/cb ",
            "vscode://anysphere/cb",
            "http://127.0.0.1:53999/other",
            "http://127.0.0.1:53999/callback?x=1",
            "http://localhost:53999/callback",
            "http://127.0.0.1.evil.example:53999/callback",
            "http://127.0.0.1:53999@evil.example/callback",
            "http://0.0.0.0:53999/callback",
            "http://[::ffff:127.0.0.1]:53999/callback",
            "https://127.0.0.1:53999/callback",
            ""
          ].map((redirect_uri) => ({ redirect_uri }))
          const others: ReadonlyArray<Readonly<Record<string, string | undefined>>> = [
            { redirect_uri: undefined },
            { client_id: undefined },
            { client_id: "ocl_00000000000000000000000000" },
            { client_id: "a\0b" },
            { client_id: "https://127.0.0.1/client" },
            { client_id: "https://localhost/client.json" },
            { client_id: "http://app.example/client.json" },
            { response_type: "token" },
            { response_type: "code token" },
            { response_type: undefined },
            { response_mode: "fragment" },
            { response_mode: "form_post" },
            { request_uri: "https://evil.example/request" },
            { request: "e30.e30." },
            { resource: "https://evil.example/mcp" },
            { resource: `${issuer}/mcp/other` },
            { resource: issuer },
            { state: "x".repeat(2001) },
            { state: "x".repeat(6000) }
          ]
          for (const given of [...addresses, ...others]) {
            const page = yield* visit("GET", `/oauth/authorize?${requestOf(clientId, challenge, given)}`, {
              cookie: person.cookie
            })
            assert.deepStrictEqual([page.status, page.location], [400, null], JSON.stringify(given))
          }
          const twice = `${requestOf(clientId, challenge)}&redirect_uri=${encodeURIComponent("https://evil.example/cb")}`
          assert.strictEqual(
            (yield* visit("GET", `/oauth/authorize?${twice}`, { cookie: person.cookie })).location,
            null
          )
          // The port of a program is free.
          const sent = yield* decide(
            person,
            requestOf(clientId, challenge, { redirect_uri: "http://127.0.0.1:4711/callback" })
          )
          assert.match(sent.location ?? "", /^http:\/\/127\.0\.0\.1:4711\/callback\?code=/)
          // A person who is not logged in stays here, too, whatever the form of the login says.
          const login = yield* visit("POST", "/oauth/login", sameSite, {
            email: person.email,
            password,
            query: "//evil.example/?a=https://evil.example"
          })
          assert.match(login.location ?? "", /^authorize\?/)
          for (const headers of [
            { origin: "null" },
            { "sec-fetch-site": "cross-site" },
            { origin: "https://evil.example" }
          ]) {
            const forced = yield* visit("POST", "/oauth/login", headers, { email: person.email, password, query: "" })
            assert.deepStrictEqual([forced.status, forced.headers.getSetCookie()], [403, []])
          }
        })
      )

      it.effect("the page is shown in no frame, and its form is taken from no other page", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const other = yield* newPerson
          const { clientId } = yield* register()
          const query = requestOf(clientId, newPkce().challenge)
          const page = yield* visit("GET", `/oauth/authorize?${query}`, { cookie: person.cookie })
          assert.strictEqual(page.headers.get("x-frame-options"), "DENY")
          assert.include(page.headers.get("content-security-policy") ?? "", "frame-ancestors 'none'")
          assert.strictEqual(page.headers.get("cache-control"), "no-store")
          assert.strictEqual(page.headers.get("referrer-policy"), "same-origin")
          assert.notMatch(page.text, /<script|<iframe|<meta http-equiv/i)
          const given = { decision: "allow", scope: "act", workspace_id: person.workspaceId, lasts_days: "30" }
          const form: Readonly<Record<string, string>> = { ...hiddenOf(page), ...given }
          const foreign = [
            { "sec-fetch-site": "cross-site" },
            { "sec-fetch-site": "same-site" },
            { origin: "https://evil.example" },
            { origin: "null" },
            { "sec-fetch-site": "cross-site", origin: issuer }
          ]
          for (const headers of foreign) {
            const sent = yield* visit("POST", "/oauth/authorize", { cookie: person.cookie, ...headers }, form)
            assert.deepStrictEqual([sent.status, sent.location], [403, null], JSON.stringify(headers))
          }
          const wrong: ReadonlyArray<readonly [string, Readonly<Record<string, string>>]> = [
            [person.cookie, { ...form, proof: "" }],
            [person.cookie, { ...form, proof: `${form["proof"]}x` }],
            [person.cookie, { ...form, proof: `${Date.now() - 16 * 60_000}~${form["proof"]?.split("~")[1]}` }],
            [person.cookie, { ...form, query: `${query}&x=1` }],
            [person.cookie, { ...form, query: requestOf((yield* register()).clientId, newPkce().challenge) }],
            // A page of another login, as of an attacker who shows their own.
            [other.cookie, form]
          ]
          for (const [cookie, fields] of wrong) {
            const sent = yield* visit("POST", "/oauth/authorize", { cookie, ...sameSite }, fields)
            assert.deepStrictEqual([sent.status, sent.location], [400, null], JSON.stringify(fields))
          }
          const without = yield* visit("POST", "/oauth/authorize", sameSite, form)
          assert.deepStrictEqual([without.status, without.location], [200, null])
          assert.include(without.text, "Log in")
          const byKey = yield* visit("POST", "/oauth/authorize", { ...person.bearer, ...sameSite }, form)
          assert.strictEqual(byKey.location, null)
        })
      )

      it.effect("takes no hostile description of an app", () =>
        Effect.gen(function* () {
          const hostile: ReadonlyArray<Readonly<Record<string, unknown>>> = [
            { redirect_uris: [] },
            { redirect_uris: undefined },
            { redirect_uris: "https://a.example/cb" },
            { redirect_uris: Array.from({ length: 11 }, (_, n) => `https://a.example/${n}`) },
            ...[
              "javascript:alert(1)",
              "JavaScript:alert(1)",
              "java\tscript:alert(1)",
              "data:text/html,<script>",
              "vbscript:x",
              "file:///etc/passwd",
              "blob:https://a.example/x",
              "about:blank",
              "view-source:https://a.example",
              "intent://x#Intent;end",
              "http://a.example/cb",
              "http://192.168.0.1/cb",
              "https://user:pw@a.example/cb",
              "https://a.example/cb#x",
              "https:///cb",
              "https://2/cb",
              "https://%61.example/cb",
              "ftp://a.example/",
              "app:cb",
              "https://a.example/\r\nset-cookie: x=y",
              "https://a.example/cb\u0000",
              "https://\u0430pple.example/cb",
              `https://a.example/${"x".repeat(3000)}`,
              7,
              null
            ].map((one) => ({ redirect_uris: [one] })),
            { grant_types: ["client_credentials"] },
            { response_types: ["token"] }
          ]
          for (const metadata of hostile) {
            const { reply } = yield* register(metadata)
            assert.strictEqual(reply.status, 400, JSON.stringify(metadata))
            assert.match(String(errorOf(reply)), /^invalid_(redirect_uri|client_metadata)$/)
          }
          for (const body of ["[]", "null", "7", "{"])
            assert.strictEqual(
              (yield* send("POST", "/oauth/register", { body, headers: { "content-type": "application/json" } }))
                .status,
              400
            )
          assert.strictEqual((yield* register({ client_uri: "x".repeat(20_000) })).reply.status, 413)
          const person = yield* newPerson
          const name = `<script>alert(1)</script>\u202eevil\u0000\u200b${"long ".repeat(100)}`
          const { clientId, reply } = yield* register({
            client_name: name,
            token_endpoint_auth_method: "client_secret_basic",
            scope: "admin"
          })
          assert.deepInclude(reply.json, { token_endpoint_auth_method: "none" })
          assert.notProperty(reply.json, "client_secret")
          const page = yield* visit("GET", `/oauth/authorize?${requestOf(clientId, newPkce().challenge)}`, {
            cookie: person.cookie
          })
          assert.notInclude(page.text, "<script>")
          assert.notMatch(page.text, /[\u202e\u200b\0]/)
          assert.include(page.text, "Nothing proves its name")
        })
      )

      it.effect("reads the addresses of an app one by one, keeps the good ones, and says which they are", () =>
        Effect.gen(function* () {
          const good = [callback, "claude://claude.ai/mcp-auth-callback/sdk", "https://app.example/cb"]
          const bad = ["javascript:alert(1)", "http://a.example/cb", "mailto:x@y", 7, null, {}, ["https://a.example"]]
          for (const [at, odd] of bad.entries()) {
            const redirect_uris = [...good.slice(0, at % 4), odd, ...good.slice(at % 4), good[0]]
            const { reply } = yield* register({
              redirect_uris,
              client_name: null,
              grant_types: null,
              response_types: null
            })
            assert.strictEqual(reply.status, 201, reply.text)
            assert.deepInclude(reply.json, { redirect_uris: good, client_name: "An app without a name" })
          }
          const { cookie } = yield* newPerson
          const { clientId } = yield* register({ redirect_uris: ["data:text/html,x", callback] })
          const { challenge } = newPkce()
          for (const [redirect_uri, status] of [
            ["data:text/html,x", 400],
            [callback, 200]
          ] as const) {
            const page = yield* visit("GET", `/oauth/authorize?${requestOf(clientId, challenge, { redirect_uri })}`, {
              cookie
            })
            assert.deepStrictEqual([page.status, page.location], [status, null])
          }
        })
      )

      it.effect("lets a network register so many apps an hour, and no more", () =>
        Effect.gen(function* () {
          const statuses: Array<number> = []
          for (let count = 0; count < 32; count++) statuses.push((yield* register({}, "192.0.2.7")).reply.status)
          assert.deepStrictEqual([...new Set(statuses.slice(0, 30))], [201])
          assert.deepStrictEqual(statuses.slice(30), [429, 429])
          assert.strictEqual((yield* register()).reply.status, 201)
        })
      )
    })
  })
