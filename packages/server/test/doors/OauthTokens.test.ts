import { assert, describe, layer } from "@effect/vitest"
import { OauthStore } from "@reins/core/oauth/OauthStore"
import { OauthTokens } from "@reins/core/oauth/OauthTokens"
import { Database } from "@reins/core/store/Database"
import { Effect, Logger, Redacted } from "effect"
import { send } from "../Service.js"
import {
  ask,
  errorOf,
  newApp,
  newCode,
  newPerson,
  refresh,
  register,
  type Tokens,
  tokenRequest,
  visit
} from "./OauthPerson.js"
import { ago, isDead, oauthServices, statusOf } from "./OauthService.js"

const lines: Array<string> = []
const logger = Logger.make(({ annotations, cause, message }) => {
  lines.push(JSON.stringify([message, [...annotations], cause]))
})

for (const { database, layer: onDatabase } of oauthServices(Logger.replace(Logger.defaultLogger, logger)))
  describe(`OAuth, tokens, on ${database}`, () => {
    layer(onDatabase, { excludeTestServices: true })((it) => {
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

      it.effect("a refresh that names scopes gives what was given, and none that was never asked for", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const asked = ["read act write", "read", "write", "offline_access", "openid profile read", "", "  act  read "]
          for (const given of ["read", "act"]) {
            const { clientId, tokens } = yield* newApp(person, { scope: given })
            let { refresh_token, scope } = tokens
            for (const named of asked) {
              const form = { grant_type: "refresh_token", client_id: clientId, refresh_token, scope: named }
              const { json, status, text } = yield* tokenRequest(form)
              assert.strictEqual(status, 200, `${given}, ${named}: ${text}`)
              assert.strictEqual((json as Tokens).scope, scope)
              ;({ refresh_token, scope } = json as Tokens)
            }
          }
          const { clientId, tokens } = yield* newApp(person, { scope: "read" }, { scope: "read offline_access" })
          for (const named of ["write", "read act", "act offline_access"]) {
            const { refresh_token } = tokens
            const form = { grant_type: "refresh_token", client_id: clientId, refresh_token, scope: named }
            assert.strictEqual(errorOf(yield* tokenRequest(form)), "invalid_scope", named)
          }
          assert.strictEqual((yield* refresh(clientId, tokens.refresh_token)).status, 200)
        })
      )

      it.effect("an access of an older release, which kept no asked scopes, is refreshed with any", () =>
        Effect.gen(function* () {
          const { clientId, tokens } = yield* newApp(yield* newPerson, { scope: "read" })
          yield* Effect.flatMap(Database, ({ run, sql }) => run(sql`update oauth_grants set asked_scopes = null`))
          const form = { grant_type: "refresh_token", client_id: clientId, refresh_token: tokens.refresh_token }
          const { json, status } = yield* tokenRequest({ ...form, scope: "read act write" })
          assert.deepStrictEqual([status, (json as Tokens).scope], [200, "read"])
        })
      )

      it.effect("a client whose registration is gone is told so, in every form of an id", () =>
        Effect.gen(function* () {
          const { form, tokens } = yield* newApp(yield* newPerson)
          const refreshing = { grant_type: "refresh_token", refresh_token: tokens.refresh_token }
          const gone = [
            "oac_01k00000000000000000000000",
            "x",
            " ",
            "\0",
            "https://a.example/",
            "x".repeat(3000),
            "' or 1"
          ]
          for (const client_id of gone)
            for (const fields of [refreshing, form, { ...refreshing, refresh_token: "ror_x" }])
              assert.strictEqual(errorOf(yield* tokenRequest({ ...fields, client_id })), "invalid_client", client_id)
          // The document of an app is no registration that could be gone.
          const document = yield* tokenRequest({ ...refreshing, client_id: "https://a.example/client.json" })
          assert.strictEqual(errorOf(document), "invalid_grant")
          assert.strictEqual(errorOf(yield* tokenRequest({ ...refreshing, client_id: "" })), "invalid_client")
          assert.strictEqual((yield* refresh(form.client_id, tokens.refresh_token)).status, 200)
        })
      )

      it.effect("answers whatever it cannot read in the form of OAuth", () =>
        Effect.gen(function* () {
          const type = "application/x-www-form-urlencoded"
          const wrong: ReadonlyArray<readonly [path: string, status: number, headers: object, body: string]> = [
            ["token", 413, { "content-type": type }, `grant_type=${"x".repeat(20_000)}`],
            ["token", 415, { "content-type": "application/json" }, "{}"],
            ["token", 415, { "content-type": "text/plain" }, "x"],
            ["token", 415, { "content-type": type, "content-encoding": "gzip" }, "x"],
            ["revoke", 415, { "content-type": "application/json" }, "{}"],
            ["revoke", 413, { "content-type": type }, "x".repeat(20_000)],
            ["register", 415, { "content-type": type }, "x=y"],
            ["register", 413, { "content-type": "application/json" }, `"${"x".repeat(20_000)}"`],
            ["register", 400, { "content-type": "application/json" }, "{"],
            ["token", 400, { "content-type": type }, "grant_type=refresh_token&grant_type=refresh_token"],
            ["token", 400, { "content-type": type }, ""]
          ]
          for (const [path, status, headers, body] of wrong) {
            const reply = yield* send("POST", `/oauth/${path}`, { headers: { ...headers }, body })
            assert.strictEqual(reply.status, status, `${path}: ${reply.text}`)
            const { error, error_description } = reply.json as Readonly<Record<string, unknown>>
            assert.match(String(error), /^invalid_\w+$/)
            assert.match(String(error_description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]{10,}$/)
          }
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
          yield* ago("oauth_grants", "expires_at", 1000)
          yield* store.purge
          for (const table of ["oauth_codes", "oauth_grants", "oauth_tokens", "oauth_clients"])
            assert.strictEqual(yield* count(table), 0, table)
          assert.strictEqual(yield* statusOf(app.tokens.access_token), 401)
          // Its registration is gone too, and this code has a client register anew.
          assert.strictEqual(errorOf(yield* refresh(app.clientId, app.tokens.refresh_token)), "invalid_client")
        })
      )
    })
  })
