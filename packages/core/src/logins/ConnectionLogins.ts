import { fn } from "@reins/base/base/Traced"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { now } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Context, Effect, Layer, Redacted } from "effect"
import { Access, type Denied, type Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { ConnectionLogin } from "./ConnectionLogin.js"
import { type ConnectionLoginRow, ConnectionLoginStore } from "./ConnectionLoginStore.js"
import { loginBeginning, wrongField } from "./LoginBeginning.js"
import { loginEnding } from "./LoginEnding.js"
import type { BegunLogin, ConnectionLoginInput, LoginAnswer } from "./LoginsApi.js"

/** Logins of people at servers of tools. A code is sent once, by whoever has begun the login, and a connection is made of its tokens. */
export class ConnectionLogins extends Context.Tag("@reins/core/logins/ConnectionLogins")<
  ConnectionLogins,
  {
    /**
     * Finds out how a person can log in to a server, and gives the address for the browser. Fails with `RequestInvalid` for a server at which nobody can,
     * with `rate_limited` where 20 logins of the account wait, and with `upstream_error` and `upstream_timeout`.
     */
    readonly create: (
      principal: Principal,
      workspaceId: string,
      input: ConnectionLoginInput
    ) => Command<
      BegunLogin,
      | Denied
      | RequestInvalid
      | ReinsError<"connection_revoked" | "rate_limited" | "upstream_error" | "upstream_timeout">
    >
    /** A login that the principal has begun. Fails with `not_found` for any other. */
    readonly get: (principal: Principal, loginId: string) => Effect.Effect<ConnectionLogin, Unseen>
    /**
     * Ends a login with the answer that the browser has brought. A login that has ended stays as it is, and nothing is sent. Fails with `not_found` for
     * one that another account has begun, and with `RequestInvalid` for an answer to another login.
     */
    readonly answer: (
      principal: Principal,
      loginId: string,
      answer: LoginAnswer
    ) => Command<ConnectionLogin, Denied | RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    ConnectionLogins,
    Effect.gen(function* () {
      const access = yield* Access
      const begin = yield* loginBeginning
      const end = yield* loginEnding
      const journal = yield* Journal
      const store = yield* ConnectionLoginStore

      const own = Effect.fnUntraced(function* (principal: Principal, loginId: string) {
        const row = yield* store.find(loginId)
        if (row === undefined || row.account_id !== principal.accountId) return yield* notFound()
        yield* access.read(principal, row.workspace_id)
        return row
      })
      const answerOf = (loginId: string) =>
        Effect.flatMap(store.find(loginId), (row) => (row === undefined ? notFound() : toLogin(row)))

      return ConnectionLogins.of({
        create: (principal, workspaceId, input) =>
          journal.prepared(
            "ConnectionLogins.create",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.write(principal, workspaceId)
              const { authorizeUrl, row } = yield* begin(principal.accountId, workspaceId, input)
              return Effect.gen(function* () {
                yield* access.write(principal, workspaceId)
                yield* store.insert(row)
                return { login: yield* toLogin(row), authorize_url: authorizeUrl }
              })
            })
          ),
        get: fn("ConnectionLogins.get")(function* (principal, loginId) {
          return yield* toLogin(yield* own(principal, loginId))
        }),
        answer: (principal, loginId, answer) =>
          journal.prepared(
            "ConnectionLogins.answer",
            { by: principal, about: { type: "connection_login", id: loginId } },
            Effect.gen(function* () {
              const row = yield* own(principal, loginId)
              yield* access.write(principal, row.workspace_id)
              if (Token.digest(Redacted.make(answer.state)) !== row.state_hash)
                return yield* wrongField("state", null, "Input should be the state of this login: begin again")
              const ending = yield* end(row, answer, principal.accountId)
              return Effect.gen(function* () {
                yield* access.write(principal, row.workspace_id)
                yield* ending
                return yield* answerOf(row.id)
              })
            })
          )
      })
    })
  )
}

const toLogin = (row: ConnectionLoginRow): Effect.Effect<ConnectionLogin> =>
  Effect.map(now, (at) => {
    const { authorization_server, client, for: reach, scopes } = shownOf(row)
    const isOver = (row.state === "pending" || row.state === "exchanging") && row.expires_at <= at
    return {
      id: row.id,
      workspace_id: row.workspace_id,
      state: isOver ? "expired" : row.state,
      reason_message: row.reason_message,
      for: reach,
      server_url: row.server_url,
      authorization_server,
      client,
      scopes,
      connection_id: row.connection_id,
      created_at: row.created_at,
      expires_at: row.expires_at
    }
  })

const shownOf = (
  row: ConnectionLoginRow
): Pick<ConnectionLogin, "authorization_server" | "client" | "for" | "scopes"> => {
  const { client, for: reach = "workspace", issuer, scopes } = JSON.parse(row.plan)
  return { authorization_server: issuer, client, for: reach, scopes }
}
