import { assert, describe, it } from "@effect/vitest"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { AccessTokens } from "@reins/core/connections/AccessTokens"
import { Connections } from "@reins/core/connections/Connections"
import type { ConnectionLoginInput, LoginAnswer } from "@reins/core/logins/LoginsApi"
import { ServerChecks } from "@reins/core/mcp/ServerChecks"
import { Database } from "@reins/core/store/Database"
import type { AuthorizationServer } from "@reins/testing/mcp/AuthorizationServer"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"
import { validated } from "../connections/ValidatedGateway.js"
import { stranger } from "../identity/Principals.js"
import { begin as beginTurn, key, project } from "../mcp/ServerAgent.js"
import { brought, lab, loggedIn } from "./Lab.js"

const refusalOf = <A, R>(effect: Effect.Effect<A, unknown, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    if (error instanceof ReinsError) return [error.code, error.message]
    return error instanceof RequestInvalid ? [error.loc.join("."), error.message] : ["unknown", String(error)]
  })

const codesSent = ({ forms }: AuthorizationServer) => forms.filter((form) => form.has("code")).length

for (const { layer: database, name } of flowDatabases) {
  describe(`logins at servers of tools, on ${name}`, () => {
    const withServices = Effect.provide(services(database, { allowPrivateHosts: ["127.0.0.1"] }))

    it.scopedLive("a person logs in with a browser, and agents call the server with the tokens", () =>
      Effect.gen(function* () {
        const given = yield* lab
        const { issuer, principal, server } = given
        const { address, begun, ended } = yield* loggedIn(given, { label: "Lab" })
        assert.deepInclude(begun, {
          state: "pending",
          client: "registration",
          authorization_server: issuer.url,
          connection_id: null
        })
        assert.deepInclude(Object.fromEntries(address.searchParams), {
          response_type: "code",
          client_id: `${key}-client-1`,
          redirect_uri: "http://127.0.0.1:7117/ui/connected",
          code_challenge_method: "S256",
          resource: server.url
        })
        assert.deepInclude(issuer.registrations[0], {
          redirect_uris: ["http://127.0.0.1:7117/ui/connected"],
          token_endpoint_auth_method: "none",
          application_type: "native"
        })
        const connection_id = ended.connection_id ?? assert.fail("there is no connection")
        assert.deepInclude(ended, { state: "completed", reason_message: null })
        const connection = yield* (yield* Connections).get(principal, connection_id)
        assert.deepInclude(connection, { kind: "mcp_oauth", label: "Lab", health: "ready" })
        assert.strictEqual(connection.settings["server_url"], server.url)
        const named = { name: "lab", url: server.url, connection_id, allow: ["get_issue"] }
        const agent = yield* beginTurn(yield* project(named, false))
        assert.isFalse((yield* agent.call("get_issue", { number: 7 })).is_error)
        const { all, sql } = yield* Database
        const rows = yield* all(sql`select * from connection_logins`)
        const events = yield* all(sql`select envelope from events`)
        for (const seen of [connection, rows, events, ended]) assert.notInclude(JSON.stringify(seen), `${key}-refresh`)
        assert.notInclude(JSON.stringify(rows), issuer.forms[0]?.get("code_verifier") ?? assert.fail("no verifier"))
        assert.isNull(rows[0]?.["sealed"])
      }).pipe(withServices)
    )

    it.scopedLive("an answer of somebody else is no login: nothing is sent, and it says why", () =>
      Effect.gen(function* () {
        const given = yield* lab
        const { begin, issuer, logins, principal } = given
        const cases = [
          [{ iss: "https://bank.example" }, "of another server"],
          [{ iss: `${issuer.url}/` }, "of another server"],
          [{ iss: undefined }, "does not say that it is of"],
          [{ code: undefined, error: "access_denied" }, "was refused at"],
          [{ code: undefined, error: "a\u202eword of a stranger" }, "for a reason of its own"],
          [{ code: undefined }, "has sent no code"]
        ] as const
        for (const [changes, words] of cases) {
          const { authorize_url, login } = yield* begin()
          const ended = yield* logins.answer(principal, login.id, withOut(issuer.allow(authorize_url), changes))
          assert.deepInclude(ended, { state: "failed", connection_id: null })
          assert.include(ended.reason_message ?? "", words)
          assert.notInclude(ended.reason_message ?? "", "stranger")
        }
        assert.lengthOf(issuer.forms, 0)
        const { authorize_url, login } = yield* begin()
        const answer = brought(issuer.allow(authorize_url))
        const foreign = { ...answer, state: `${login.id}.${"A".repeat(43)}` }
        assert.deepStrictEqual((yield* refusalOf(logins.answer(principal, login.id, foreign)))[0], "body.state")
        const other = yield* stranger
        assert.deepStrictEqual((yield* refusalOf(logins.answer(other, login.id, answer)))[0], "not_found")
        assert.deepStrictEqual((yield* refusalOf(logins.get(other, login.id)))[0], "not_found")
        assert.lengthOf(issuer.forms, 0)
        // The login has not ended by any of that.
        assert.strictEqual((yield* logins.answer(principal, login.id, answer)).state, "completed")
      }).pipe(withServices)
    )

    it.scopedLive("two pages with one answer send the code once", () =>
      Effect.gen(function* () {
        const { begin, issuer, logins, principal } = yield* lab
        const { authorize_url, login } = yield* begin()
        const answer = brought(issuer.allow(authorize_url))
        const ends = yield* Effect.all(
          Array.from({ length: 4 }, () => logins.answer(principal, login.id, answer)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(codesSent(issuer), 1)
        assert.strictEqual((yield* logins.get(principal, login.id)).state, "completed")
        assert.isTrue(ends.some(({ state }) => state === "completed"))
        assert.strictEqual((yield* logins.answer(principal, login.id, answer)).state, "completed")
        assert.strictEqual(codesSent(issuer), 1)
        assert.lengthOf((yield* (yield* Connections).list(principal, login.workspace_id, {})).items, 1)
      }).pipe(withServices)
    )

    it.scopedLive("a new login gives a connection its next credential, and revoking it ends the tokens there", () =>
      Effect.gen(function* () {
        const given = yield* lab
        const { begin, issuer, principal, server } = given
        const connections = yield* Connections
        const { ended } = yield* loggedIn(given, { scopes: "a b" })
        const connection_id = ended.connection_id ?? assert.fail("there is no connection")
        const again = yield* loggedIn(given, { connection_id, scopes: "b c" })
        assert.strictEqual(again.ended.connection_id, connection_id)
        assert.strictEqual(again.address.searchParams.get("scope"), "a b c")
        const { credential, settings } = yield* connections.get(principal, connection_id)
        assert.strictEqual(credential?.ordinal, 2)
        assert.strictEqual(settings["granted_scopes"], "a b c")
        const elsewhere = yield* refusalOf(begin({ connection_id, server_url: "http://127.0.0.1:1/mcp" }))
        assert.include(elsewhere[1], "for another server")
        const refresh = issuer.refreshToken
        yield* connections.disconnect(principal, connection_id)
        assert.deepInclude(Object.fromEntries(issuer.ended[0] ?? []), {
          token: refresh,
          token_type_hint: "refresh_token",
          client_id: `${key}-client-2`
        })
        assert.strictEqual((yield* refusalOf(begin({ connection_id })))[0], "connection_revoked")
        assert.isTrue(server.asked.length > 0)
      }).pipe(withServices)
    )

    it.scopedLive("a server that renews no token gives the one that it has, until it refuses it", () =>
      Effect.gen(function* () {
        const given = yield* lab
        const { issuer, principal, server } = given
        issuer.isStatic = true
        const { ended } = yield* loggedIn(given)
        const connection_id = ended.connection_id ?? assert.fail("there is no connection")
        const connections = yield* Connections
        const { settings } = yield* connections.get(principal, connection_id)
        assert.isTrue(Date.parse(settings["access_token_ends_at"] ?? "") > Date.now())
        const asked = issuer.forms.length
        const named = { name: "lab", url: server.url, connection_id, allow: ["get_issue"] }
        const made = yield* project(named, false)
        const agent = yield* beginTurn(made)
        assert.isFalse((yield* agent.call("get_issue", { number: 7 })).is_error)
        assert.strictEqual((yield* validated(connection_id)).ended?.state, "passed")
        issuer.good.clear()
        const refused = yield* agent.call("get_issue", { number: 8 })
        assert.isTrue(refused.is_error)
        assert.include(refused.text, "Log in again")
        assert.strictEqual((yield* connections.get(principal, connection_id)).health, "reauth_required")
        assert.strictEqual((yield* validated(connection_id)).ended?.state, "failed")
        const checked = yield* (yield* ServerChecks).check(principal, made.project.id, {})
        assert.strictEqual(checked.servers[0]?.state, "auth_required")
        assert.strictEqual(issuer.forms.length, asked)
        const again = yield* loggedIn(given, { connection_id })
        assert.strictEqual(again.ended.state, "completed")
        const mended = yield* (yield* ServerChecks).check(principal, made.project.id, {})
        assert.strictEqual(mended.servers[0]?.state, "reached")
        assert.isFalse((yield* agent.call("get_issue", { number: 9 })).is_error)
        const tokens = yield* AccessTokens
        const bearer = yield* tokens.of(given.workspaceId, connection_id, () => Effect.void)
        assert.include(Redacted.value(bearer.token), `${key}-access`)
      }).pipe(withServices)
    )

    it.scopedLive("a server at which nobody can log in is refused, with what to do", () =>
      Effect.gen(function* () {
        const { begin, issuer, server } = yield* lab
        const cases = [
          [{ code_challenge_methods_supported: undefined }, "does not say that it takes PKCE"],
          [{ code_challenge_methods_supported: ["plain"] }, "does not say that it takes PKCE"],
          [{ authorization_endpoint: "javascript:alert(1)" }, "names no https address"],
          [{ authorization_endpoint: "http://login.example/" }, "names no https address"],
          [{ authorization_endpoint: undefined }, "names no https address"],
          [{ registration_endpoint: undefined }, "http://127.0.0.1:7117/ui/connected"],
          [{ issuer: "https://bank.example" }, "of another authorization server"]
        ] as const
        for (const [about, words] of cases) {
          issuer.about = about
          const refused = yield* refusalOf(begin())
          assert.deepStrictEqual([refused[0], refused[1]?.includes(words)], ["body.server_url", true], refused[1])
        }
        issuer.about = { registration_endpoint: undefined }
        assert.strictEqual((yield* begin({ client_id: "by-hand" })).login.client, "given")
        assert.strictEqual((yield* refusalOf(begin({ client_secret: "alone" })))[0], "body.client_id")
        assert.strictEqual((yield* refusalOf(begin({ server_url: "ftp://host/mcp" })))[0], "body.server_url")
        assert.strictEqual((yield* refusalOf(begin({ redirect_uri: "http://bank.example/" })))[0], "body.redirect_uri")
        assert.strictEqual((yield* refusalOf(begin({ scopes: "two  spaces" })))[0], "body.scopes")
        assert.strictEqual((yield* refusalOf(begin({ server_url: "http://127.0.0.1:1/mcp" })))[0], "upstream_error")
        server.authorization = undefined
        assert.include((yield* refusalOf(begin()))[1], "publishes no metadata")
      }).pipe(withServices)
    )

    it.scopedLive("scopes are those of the person, else those of the refusal, and ask for a token to renew with", () =>
      Effect.gen(function* () {
        const { begin, issuer, server } = yield* lab
        const scopeOf = (input: ConnectionLoginInput = {}) =>
          Effect.map(begin(input), ({ authorize_url }) => new URL(authorize_url).searchParams)
        assert.isNull((yield* scopeOf()).get("scope"))
        server.wantedScope = "files:read"
        assert.strictEqual((yield* scopeOf()).get("scope"), "files:read")
        issuer.about = { scopes_supported: ["files:read", "offline_access"] }
        assert.strictEqual((yield* scopeOf()).get("scope"), "files:read offline_access")
        assert.strictEqual((yield* scopeOf()).get("prompt"), "consent")
        assert.strictEqual((yield* scopeOf({ scopes: "all" })).get("scope"), "all offline_access")
      }).pipe(withServices)
    )

    it.scopedLive("a secret that a server gives unasked, and takes in no way that it names, is left", () =>
      Effect.gen(function* () {
        const given = yield* lab
        given.issuer.about = { token_endpoint_auth_methods_supported: ["none"] }
        given.issuer.registered = { client_secret: "unasked", token_endpoint_auth_method: undefined }
        assert.strictEqual((yield* loggedIn(given)).ended.state, "completed")
        assert.isNull(given.issuer.forms[0]?.get("client_secret") ?? null)
        given.issuer.about = { token_endpoint_auth_methods_supported: ["client_secret_post"] }
        assert.strictEqual((yield* loggedIn(given)).ended.state, "completed")
        assert.strictEqual(given.issuer.forms[1]?.get("client_secret"), "unasked")
      }).pipe(withServices)
    )

    it.scopedLive("twenty logins of a person may wait", () =>
      Effect.gen(function* () {
        const { begin } = yield* lab
        for (let count = 0; count < 20; count++) yield* begin({ client_id: "by-hand" })
        assert.strictEqual((yield* refusalOf(begin()))[0], "rate_limited")
      }).pipe(withServices)
    )
  })
}

/** The answer with other parameters; one that is undefined is left out. */
const withOut = (back: URL, changes: Readonly<Record<string, string | undefined>>): LoginAnswer => {
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) back.searchParams.delete(name)
    else back.searchParams.set(name, value)
  return brought(back)
}
