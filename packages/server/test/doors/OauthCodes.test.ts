import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { change, send } from "../Service.js"
import {
  decide,
  errorOf,
  newApp,
  newCode,
  newPerson,
  newPkce,
  register,
  requestOf,
  type Tokens,
  tokenRequest,
  visit
} from "./OauthPerson.js"
import { ago, isDead, issuer, oauthServices, statusOf } from "./OauthService.js"

for (const { database, layer: onDatabase } of oauthServices())
  describe(`OAuth, codes and PKCE, on ${database}`, () => {
    layer(onDatabase, { excludeTestServices: true })((it) => {
      it.effect("tells apps where they are, and gives them what the person has allowed", () =>
        Effect.gen(function* () {
          const none = yield* send("POST", "/mcp", { body: {} })
          assert.strictEqual(none.status, 401)
          assert.strictEqual(
            none.headers.get("www-authenticate"),
            `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp", scope="read act"`
          )
          for (const suffix of ["", "/mcp"]) {
            const { json: resource } = yield* send("GET", `/.well-known/oauth-protected-resource${suffix}`)
            assert.deepInclude(resource, { resource: `${issuer}/mcp`, authorization_servers: [issuer] })
            const { json: server } = yield* send("GET", `/.well-known/oauth-authorization-server${suffix}`)
            assert.deepInclude(server, {
              issuer,
              authorization_endpoint: `${issuer}/oauth/authorize`,
              code_challenge_methods_supported: ["S256"],
              token_endpoint_auth_methods_supported: ["none"],
              authorization_response_iss_parameter_supported: true
            })
          }
          const person = yield* newPerson
          const { answer, tokens } = yield* newApp(person)
          assert.deepStrictEqual([answer.get("state"), answer.get("iss")], ["the state", issuer])
          assert.deepInclude(tokens, { scope: "read act", expires_in: 3600, token_type: "Bearer" })
          assert.strictEqual(yield* statusOf(tokens.access_token), 200)
          const listed = yield* send("GET", "/api/oauth-grants", { headers: person.bearer })
          const { items } = listed.json as { items: ReadonlyArray<Record<string, unknown>> }
          assert.deepInclude(items[0], {
            client_name: "Claude",
            client_host: null,
            scopes: ["act", "read"],
            workspace_id: person.workspaceId,
            unattended: false
          })
          const keys = yield* send("GET", "/api/api-keys", { headers: person.bearer })
          assert.notInclude(keys.text, String(items[0]?.["key_id"]))
          const refused = yield* visit("GET", `/oauth/authorize?${requestOf("ocl_none", newPkce().challenge)}`)
          assert.include(refused.text, "Log in")
        })
      )

      it.effect("tells the app of a refusal, and gives it nothing", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const { clientId } = yield* register()
          const sent = yield* decide(person, requestOf(clientId, newPkce().challenge), { decision: "refuse" })
          const { searchParams } = new URL(sent.location ?? "")
          assert.deepStrictEqual(Object.fromEntries(searchParams), {
            error: "access_denied",
            state: "the state",
            iss: issuer
          })
        })
      )

      it.effect("a code that is used again gives nothing, and ends what it gave", () =>
        Effect.gen(function* () {
          const app = yield* newApp(yield* newPerson)
          const again = yield* tokenRequest(app.form)
          assert.deepStrictEqual([again.status, errorOf(again)], [400, "invalid_grant"])
          yield* isDead(app)
        })
      )

      it.effect("of many that use one code at once, one gets tokens, which then end", () =>
        Effect.gen(function* () {
          const { form } = yield* newCode(yield* newPerson)
          const replies = yield* Effect.forEach(Array.from({ length: 8 }), () => tokenRequest(form), { concurrency: 8 })
          const good = replies.filter(({ status }) => status === 200).map(({ json }) => json as Tokens)
          assert.lengthOf(good, 1)
          assert.strictEqual(yield* statusOf(good[0]?.access_token ?? ""), 401)
        })
      )

      it.effect(
        "a stolen code is worth nothing without the secret, the client and the address that it was made for",
        () =>
          Effect.gen(function* () {
            const { form } = yield* newCode(yield* newPerson)
            const { clientId: other } = yield* register({ client_name: "Thief" })
            const { code_verifier: _, ...bare } = form
            const thefts: ReadonlyArray<Readonly<Record<string, string>>> = [
              bare,
              { ...form, code_verifier: "" },
              { ...form, code_verifier: newPkce().verifier },
              { ...form, client_id: other },
              { ...form, redirect_uri: "http://127.0.0.1:53998/callback" },
              { ...form, redirect_uri: "https://evil.example/callback" },
              { ...form, code: `${form.code}x` },
              { ...form, code: "" }
            ]
            for (const theft of thefts) assert.strictEqual(errorOf(yield* tokenRequest(theft)), "invalid_grant")
            const { redirect_uri: __, ...unaddressed } = form
            assert.strictEqual(errorOf(yield* tokenRequest(unaddressed)), "invalid_grant")
            const { client_id: ___, ...nameless } = form
            assert.strictEqual(errorOf(yield* tokenRequest(nameless)), "invalid_request")
            assert.strictEqual(
              errorOf(yield* tokenRequest({ ...form, grant_type: "password" })),
              "unsupported_grant_type"
            )
            assert.strictEqual(
              errorOf(yield* tokenRequest({ ...form, resource: "https://evil.example/mcp" })),
              "invalid_target"
            )
            // None of it has used the code up.
            assert.strictEqual((yield* tokenRequest({ ...form, resource: `${issuer}/mcp` })).status, 200)
          })
      )

      it.effect("a code is good for a minute, and not after its login or its membership has ended", () =>
        Effect.gen(function* () {
          const late = yield* newCode(yield* newPerson)
          yield* ago("oauth_codes", "expires_at", 1000)
          assert.strictEqual(errorOf(yield* tokenRequest(late.form)), "invalid_grant")
          const person = yield* newPerson
          const out = yield* newCode(person)
          yield* change("POST", "/api/auth/logout", { headers: { cookie: person.cookie, "x-csrf-token": person.csrf } })
          assert.strictEqual(errorOf(yield* tokenRequest(out.form)), "invalid_grant")
        })
      )

      it.effect("asks for PKCE by S256, and takes no weaker form", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const { clientId } = yield* register()
          const { challenge, verifier } = newPkce()
          const weak: ReadonlyArray<Readonly<Record<string, string | undefined>>> = [
            { code_challenge: undefined, code_challenge_method: undefined },
            { code_challenge_method: undefined },
            { code_challenge_method: "plain", code_challenge: verifier },
            { code_challenge_method: "s256" },
            { code_challenge: undefined },
            { code_challenge: challenge.slice(1) },
            { code_challenge: `${challenge.slice(1)}=` }
          ]
          for (const given of weak) {
            const page = yield* visit("GET", `/oauth/authorize?${requestOf(clientId, challenge, given)}`, {
              cookie: person.cookie
            })
            assert.deepStrictEqual([page.status, page.location], [400, null], JSON.stringify(given))
          }
        })
      )
    })
  })
