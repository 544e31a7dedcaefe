import { assert, describe, layer } from "@effect/vitest"
import { OauthStore } from "@reins/core/oauth/OauthStore"
import { OauthTokens } from "@reins/core/oauth/OauthTokens"
import { Database } from "@reins/core/store/Database"
import { Effect, Logger, Redacted } from "effect"
import { servicesByDatabase } from "../Databases.js"
import { change, password, send } from "../Service.js"
import {
  ask,
  callback,
  callTool,
  decide,
  errorOf,
  hiddenOf,
  newApp,
  newCode,
  newPerson,
  newPkce,
  type Person,
  refresh,
  register,
  requestOf,
  sameSite,
  type Tokens,
  tokenRequest,
  visit
} from "./OauthPerson.js"

const publicUrl = new URL("https://reins.example.com")
const issuer = "https://reins.example.com"

const lines: Array<string> = []
const logger = Logger.make(({ annotations, cause, message }) => {
  lines.push(JSON.stringify([message, [...annotations], cause]))
})

/** The statuses of the API and of `/mcp` for a token. */
const statusOf = (token: string) => Effect.map(ask(token, "tools/list"), ({ status }) => status)

const isDead = ({ clientId, tokens }: { readonly clientId: string; readonly tokens: Tokens }) =>
  Effect.gen(function* () {
    assert.strictEqual(yield* statusOf(tokens.access_token), 401)
    assert.strictEqual(errorOf(yield* refresh(clientId, tokens.refresh_token)), "invalid_grant")
  })

/** A session of a workspace that has a connection. */
const newSession = ({ bearer: headers }: Pick<Person, "bearer">, workspaceId: string) =>
  Effect.gen(function* () {
    const path = `/api/workspaces/${workspaceId}`
    const credential = { base_url: "http://127.0.0.1:9/v1", api_key: "nobody listens there" }
    const connection = yield* change("POST", `${path}/connections`, {
      headers,
      body: { kind: "alpha_gateway", label: "test", credential }
    })
    const { id } = connection.json as { readonly id: string }
    yield* change("PATCH", `/api/connections/${id}`, { headers, body: { preferred_model: "scripted-1" } })
    const made = yield* change("POST", `${path}/sessions`, { headers, body: { title: "test" } })
    assert.strictEqual(made.status, 201, made.text)
    return (made.json as { readonly id: string }).id
  })

/** Moves the times of rows into the past, because nothing here waits. */
const ago = (table: string, column: string, ms: number) =>
  Effect.flatMap(Database, ({ run, sql }) =>
    run(sql`update ${sql.literal(table)} set ${sql.literal(column)} = ${new Date(Date.now() - ms).toISOString()}
      where ${sql.literal(column)} is not null`)
  )

for (const { database, layer: onDatabase } of servicesByDatabase(
  { publicUrl, trustedProxies: ["127.0.0.1"] },
  Logger.replace(Logger.defaultLogger, logger)
))
  describe(`OAuth on ${database}`, () => {
    layer(onDatabase, { excludeTestServices: true, timeout: 60_000 })((it) => {
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
          yield* ago("oauth_codes", "expires_at", 1)
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

      it.effect("a token is good for /mcp alone, and for the resource that it was made for", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const { tokens } = yield* newApp(person, { scope: "write" })
          const bearer = { authorization: `Bearer ${tokens.access_token}` }
          for (const path of ["/api/me", "/api/api-keys", "/api/oauth-grants", `/api/workspaces/${person.workspaceId}`])
            assert.strictEqual((yield* send("GET", path, { headers: bearer })).status, 401, path)
          assert.strictEqual(yield* statusOf(tokens.access_token), 200)
          assert.strictEqual(yield* statusOf(tokens.refresh_token), 401)
          const authenticate = Effect.flatMap(OauthTokens, (all) =>
            all.authenticate(Redacted.make(tokens.access_token))
          )
          assert.isDefined(yield* authenticate)
          yield* Effect.flatMap(Database, ({ run, sql }) =>
            run(
              sql`update oauth_grants set resource = ${"https://other.example/mcp"} where account_id = ${person.account.id}`
            )
          )
          assert.isUndefined(yield* authenticate)
          assert.strictEqual(yield* statusOf(tokens.access_token), 401)
        })
      )

      it.effect("a refresh token is good once; a retry gets the same answer, and a replay ends all", () =>
        Effect.gen(function* () {
          const app = yield* newApp(yield* newPerson)
          const { clientId } = app
          const first = yield* refresh(clientId, app.tokens.refresh_token)
          const retry = yield* refresh(clientId, app.tokens.refresh_token)
          assert.deepStrictEqual(retry.json, first.json)
          const next = first.json as Tokens
          assert.notStrictEqual(next.refresh_token, app.tokens.refresh_token)
          assert.strictEqual(yield* statusOf(next.access_token), 200)
          const { clientId: other } = yield* register()
          assert.strictEqual(errorOf(yield* refresh(other, next.refresh_token)), "invalid_grant")
          assert.strictEqual(errorOf(yield* refresh(clientId, `${next.refresh_token}x`)), "invalid_grant")
          assert.strictEqual(yield* statusOf(next.access_token), 200)
          yield* ago("oauth_tokens", "used_at", 11_000)
          assert.strictEqual(errorOf(yield* refresh(clientId, app.tokens.refresh_token)), "invalid_grant")
          yield* isDead({ clientId, tokens: next })
          yield* isDead(app)
        })
      )

      it.effect("a thief of an old refresh token gets nothing once its successor was used", () =>
        Effect.gen(function* () {
          const { clientId, tokens } = yield* newApp(yield* newPerson)
          const second = (yield* refresh(clientId, tokens.refresh_token)).json as Tokens
          const third = (yield* refresh(clientId, second.refresh_token)).json as Tokens
          assert.strictEqual(errorOf(yield* refresh(clientId, tokens.refresh_token)), "invalid_grant")
          yield* isDead({ clientId, tokens: third })
        })
      )

      it.effect("many refreshes at once get one answer", () =>
        Effect.gen(function* () {
          const { clientId, tokens } = yield* newApp(yield* newPerson)
          const replies = yield* Effect.forEach(
            Array.from({ length: 8 }),
            () => refresh(clientId, tokens.refresh_token),
            { concurrency: 8 }
          )
          assert.deepStrictEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
          assert.strictEqual(new Set(replies.map(({ text }) => text)).size, 1)
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

      it.effect("no app gets more than it asked for and the person gave", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const { clientId } = yield* register()
          const { challenge } = newPkce()
          const reads = requestOf(clientId, challenge, { scope: "read admin everything" })
          const shown = yield* visit("GET", `/oauth/authorize?${reads}`, { cookie: person.cookie })
          assert.notInclude(shown.text, 'value="act"')
          assert.notInclude(shown.text, 'value="admin"')
          for (const fields of [
            { scope: "act" },
            { scope: "write" },
            { scope: "admin" },
            { scope: "read", lasts_days: "9000" },
            { scope: "read", lasts_days: "" }
          ]) {
            const sent = yield* decide(person, reads, fields)
            assert.deepStrictEqual([sent.status, sent.location], [400, null], JSON.stringify(fields))
          }
          const unnamed = yield* decide(person, requestOf(clientId, challenge, { scope: undefined }), {
            scope: "write"
          })
          assert.strictEqual(unnamed.location, null)
          const { clientId: reader, tokens } = yield* newApp(person, { scope: "read" })
          assert.strictEqual(tokens.scope, "read")
          const wider = { grant_type: "refresh_token", client_id: reader, refresh_token: tokens.refresh_token }
          assert.strictEqual(errorOf(yield* tokenRequest({ ...wider, scope: "read act write" })), "invalid_scope")
          const start = yield* callTool(tokens.access_token, "start_session", { message: "Write." })
          assert.strictEqual(start.status, 403)
          assert.match(start.headers.get("www-authenticate") ?? "", /scope="read act", error="insufficient_scope"$/)
          const acting = yield* newApp(person)
          const deliver = yield* callTool(acting.tokens.access_token, "deliver", { changeset_id: "cs_x" })
          assert.strictEqual(deliver.status, 403)
          assert.match(deliver.headers.get("www-authenticate") ?? "", /scope="read act write"/)
          // A name that is written otherwise reaches no tool, and the API refuses by itself.
          assert.notInclude(
            (yield* callTool(tokens.access_token, "START_SESSION", { message: "W." })).text,
            "session_id"
          )
        })
      )

      it.effect("an app reaches one workspace, which its person belongs to", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const stranger = yield* newPerson
          const made = yield* change("POST", "/api/workspaces", { headers: person.bearer, body: { name: "Second" } })
          const second = (made.json as { id: string }).id
          const session_id = yield* newSession(person, second)
          const first = yield* newApp(person)
          const other = yield* newApp({ ...person, workspaceId: second })
          const seen = yield* callTool(other.tokens.access_token, "get_session", { session_id })
          assert.include(seen.text, session_id)
          assert.notInclude(seen.text, "not_found")
          for (const tool of ["get_session", "wait"]) {
            const { text } = yield* callTool(first.tokens.access_token, tool, { session_id })
            assert.include(text, "not_found", text)
          }
          assert.notInclude((yield* callTool(first.tokens.access_token, "list_sessions")).text, session_id)
          const { clientId } = yield* register()
          for (const workspace_id of [stranger.workspaceId, "wsp_x", ""]) {
            const sent = yield* decide(person, requestOf(clientId, newPkce().challenge), { workspace_id })
            assert.deepStrictEqual([sent.status, sent.location], [404, null])
          }
          // Nobody else sees or ends it.
          const mine = yield* send("GET", "/api/oauth-grants", { headers: person.bearer })
          const { items } = mine.json as { items: ReadonlyArray<{ id: string }> }
          assert.lengthOf(items, 2)
          const theirs = yield* send("GET", "/api/oauth-grants", { headers: stranger.bearer })
          assert.deepInclude(theirs.json, { items: [] })
          for (const { id } of items)
            assert.strictEqual(
              (yield* change("DELETE", `/api/oauth-grants/${id}`, { headers: stranger.bearer })).status,
              404
            )
        })
      )

      it.effect("an app is refused at once when its access, its role or its account is gone", () =>
        Effect.gen(function* () {
          const owner = yield* newPerson
          const { json } = yield* change("POST", "/api/workspaces", { headers: owner.bearer, body: { name: "Team" } })
          const workspaceId = (json as { id: string }).id
          const member = yield* newPerson
          yield* Effect.flatMap(Database, ({ run, sql }) =>
            run(
              sql`insert into workspace_members ${sql.insert({
                workspace_id: workspaceId,
                account_id: member.account.id,
                role: "member",
                created_at: new Date().toISOString()
              })}`
            )
          )
          const app = yield* newApp({ ...member, workspaceId })
          const start = (token: string) => callTool(token, "start_session", { message: "Write." })
          // The role of a viewer reads alone.
          yield* change("POST", `/api/workspaces/${workspaceId}/members`, {
            headers: owner.bearer,
            body: { email: member.email, role: "viewer" }
          })
          assert.include((yield* start(app.tokens.access_token)).text, "forbidden")
          assert.strictEqual(yield* statusOf(app.tokens.access_token), 200)
          yield* change("DELETE", `/api/workspaces/${workspaceId}/members/${member.account.id}`, {
            headers: owner.bearer
          })
          yield* isDead(app)
          const ended = yield* newApp(member)
          const listed = yield* send("GET", "/api/oauth-grants", { headers: member.bearer })
          const [grant] = (listed.json as { items: ReadonlyArray<{ id: string }> }).items
          assert.strictEqual(
            (yield* change("DELETE", `/api/oauth-grants/${grant?.id}`, { headers: member.bearer })).status,
            200
          )
          yield* isDead(ended)
          const before = yield* newApp(member)
          const changed = yield* change("POST", "/api/auth/password-changes", {
            headers: { cookie: member.cookie, "x-csrf-token": member.csrf },
            body: { current_password: password, new_password: "the otter sleeps on its back" }
          })
          assert.strictEqual(changed.status, 200)
          yield* isDead(before)
          const gone = yield* newPerson
          const last = yield* newApp(gone)
          yield* Effect.flatMap(Database, ({ run, sql }) =>
            run(sql`update accounts set state = 'disabled' where id = ${gone.account.id}`)
          )
          yield* isDead(last)
        })
      )

      it.effect("an app ends its own tokens, and nobody else's", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const app = yield* newApp(person)
          const revoke = (client_id: string, token: string) => visit("POST", "/oauth/revoke", {}, { client_id, token })
          const { clientId: other } = yield* register()
          assert.strictEqual(errorOf(yield* revoke(other, app.tokens.refresh_token)), "invalid_client")
          assert.strictEqual((yield* revoke(app.clientId, "ror_unknown")).status, 200)
          assert.strictEqual(yield* statusOf(app.tokens.access_token), 200)
          assert.strictEqual((yield* revoke(app.clientId, app.tokens.access_token)).status, 200)
          assert.strictEqual(yield* statusOf(app.tokens.access_token), 401)
          const next = (yield* refresh(app.clientId, app.tokens.refresh_token)).json as Tokens
          assert.strictEqual((yield* revoke(app.clientId, next.refresh_token)).status, 200)
          yield* isDead({ clientId: app.clientId, tokens: next })
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
            ].map((one) => ({ redirect_uris: [callback, one] })),
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

      it.effect("the person decides as with an API key, and the address takes nothing of that away", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const session_id = yield* newSession(person, person.workspaceId)
          const input = { session_id, interaction_id: "int_x", option: "allow" }
          const asked = yield* newApp(person, { scope: "write" })
          const free = yield* newApp(person, { scope: "write", unattended: "yes" })
          for (const { tokens } of [asked, free]) {
            const answer = yield* callTool(tokens.access_token, "answer", input, "?unattended=true")
            assert.include(answer.text, "not_found", answer.text)
          }
          const listed = yield* send("GET", "/api/oauth-grants", { headers: person.bearer })
          const { items } = listed.json as { items: ReadonlyArray<{ unattended: boolean }> }
          assert.deepStrictEqual(
            items.map(({ unattended }) => unattended),
            [true, false]
          )
          // `unattended` counts with the scope that it is about.
          const less = yield* newApp(person, { scope: "act", unattended: "yes" })
          assert.strictEqual(less.tokens.scope, "read act")
        })
      )

      it.effect("keeps codes and tokens as digests alone, and logs none of them", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const app = yield* newApp(person)
          yield* tokenRequest({ ...app.form, code_verifier: "wrong" })
          yield* ask(app.tokens.access_token, "tools/list")
          const bad = `roa_${"canary".padEnd(43, "x")}`
          const refused = yield* ask(bad, "tools/list")
          const next = (yield* refresh((yield* newApp(person)).clientId, "ror_canary")).text
          const secrets = [
            app.form.code,
            app.form.code_verifier,
            app.tokens.access_token,
            app.tokens.refresh_token,
            bad,
            "ror_canary"
          ]
          const { all, sql } = yield* Database
          const tables = ["oauth_clients", "oauth_codes", "oauth_grants", "oauth_tokens", "api_keys", "stored_answers"]
          const rows: Array<string> = []
          for (const table of tables)
            rows.push(
              JSON.stringify(
                yield* Effect.catchAllCause(all(sql`select * from ${sql.literal(table)}`), () => Effect.succeed([]))
              )
            )
          assert.isAbove(rows.join().length, 500)
          for (const secret of secrets) {
            assert.notInclude(rows.join(), secret)
            assert.notInclude(lines.join(), secret)
            assert.notInclude(refused.text + next, secret)
          }
        })
      )

      it.effect("deletes what no longer counts", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const app = yield* newApp(person)
          yield* newCode(person)
          const unused = yield* register()
          const { first, sql } = yield* Database
          const store = yield* OauthStore
          const count = (table: string) =>
            Effect.map(
              first(sql<{ n: number }>`select cast(count(*) as integer) as n from ${sql.literal(table)}`),
              (row) => row?.n ?? 0
            )
          yield* store.purge
          assert.strictEqual((yield* refresh(app.clientId, app.tokens.refresh_token)).status, 200)
          assert.isDefined(yield* store.findClient(unused.clientId))
          yield* ago("oauth_codes", "expires_at", 2 * 86_400_000)
          yield* ago("oauth_clients", "allowed_at", 31 * 86_400_000)
          yield* ago("oauth_grants", "expires_at", 1)
          yield* store.purge
          for (const table of ["oauth_codes", "oauth_grants", "oauth_tokens", "oauth_clients"])
            assert.strictEqual(yield* count(table), 0, table)
          yield* isDead(app)
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
