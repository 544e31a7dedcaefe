import { apiVersion } from "@reins/core/Api"
import { Waits } from "@reins/core/delegations/Waits"
import { AccountDeletions } from "@reins/core/deletion/AccountDeletions"
import { Accounts } from "@reins/core/identity/Accounts"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { PasswordChanges } from "@reins/core/identity/PasswordChanges"
import { Effect } from "effect"
import packageJson from "../../package.json" with { type: "json" }
import { EventStreams } from "../EventStreams.js"
import { Shutdown } from "../Shutdown.js"
import type { Handlers } from "./Handlers.js"
import { Authentication } from "./middleware/Authentication.js"

/** Logins and passwords need the client of a request, and change its cookie. */
export const accounts = Effect.gen(function* () {
  const accounts = yield* Accounts
  const authentication = yield* Authentication
  const logins = yield* LoginSessions
  const passwords = yield* PasswordChanges
  const deletions = yield* AccountDeletions
  const handlers: Omit<Handlers<"accounts">, "getMe"> = {
    register: ({ body, exchange }) => accounts.register(body, exchange),
    login: ({ body, exchange }) =>
      Effect.map(logins.login(body, exchange), (loggedIn) => authentication.remember(exchange, loggedIn)),
    logout: ({ exchange, principal }) => Effect.map(logins.logout(principal), () => authentication.forget(exchange)),
    verifyEmail: ({ body }) => accounts.verifyEmail(body),
    changePassword: ({ body, exchange, principal }) => passwords.change(principal, body, exchange),
    resetPassword: ({ body, exchange }) => passwords.reset(body, exchange),
    delete: ({ body, exchange, principal }) => deletions.deleteOwn(principal, body, exchange)
  }
  return handlers
})

/** Logs are answered as pages, or as streams that take the exchange for themselves. */
export const events = Effect.map(EventStreams, (events) => {
  const ofSession: Pick<Handlers<"sessions">, "listEvents"> = {
    listEvents: ({ exchange, path, principal, query }) => events.answer(exchange, principal, path.session_id, query)
  }
  const ofWorkspace: Pick<Handlers<"workspaces">, "listEvents"> = {
    listEvents: ({ exchange, path, principal, query }) =>
      events.answerWorkspace(exchange, principal, path.workspace_id, query)
  }
  return { ofSession, ofWorkspace }
})

/** A wait ends when the server does. */
export const waits = Effect.gen(function* () {
  const waits = yield* Waits
  const shutdown = yield* Shutdown
  const handlers: Pick<Handlers<"delegations">, "wait"> = {
    wait: ({ body, path, principal }) => waits.wait(principal, path.delegation_id, body, shutdown.begun)
  }
  return handlers
})

export const version: Pick<Handlers<"catalog">, "getVersion"> = {
  getVersion: () => Effect.succeed({ release: packageJson.version, api_version: apiVersion })
}
