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
    layer(onDatabase, { excludeTestServices: true, timeout: 60_000 })((it) => {
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
          yield* ago("oauth_grants", "expires_at", 1)
          yield* store.purge
          for (const table of ["oauth_codes", "oauth_grants", "oauth_tokens", "oauth_clients"])
            assert.strictEqual(yield* count(table), 0, table)
          yield* isDead(app)
        })
      )
    })
  })
