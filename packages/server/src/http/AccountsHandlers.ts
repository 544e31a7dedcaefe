import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { Members } from "@reins/core/identity/Members"
import { PasswordChanges } from "@reins/core/identity/PasswordChanges"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { Usages } from "@reins/core/sessions/usage/Usages"
import { Effect } from "effect"
import { EventStreams } from "../EventStreams.js"
import type { Handlers } from "./Handlers.js"
import { Authentication } from "./middleware/Authentication.js"

export const accounts = Effect.gen(function* () {
  const accounts = yield* Accounts
  const authentication = yield* Authentication
  const logins = yield* LoginSessions
  const passwords = yield* PasswordChanges
  const handlers: Handlers<"accounts"> = {
    register: ({ body, exchange }) => accounts.register(body, exchange),
    login: ({ body, exchange }) =>
      Effect.map(logins.login(body, exchange), (loggedIn) => authentication.remember(exchange, loggedIn)),
    logout: ({ exchange, principal }) => Effect.map(logins.logout(principal), () => authentication.forget(exchange)),
    verifyEmail: ({ body }) => accounts.verifyEmail(body),
    changePassword: ({ body, exchange, principal }) => passwords.change(principal, body, exchange),
    resetPassword: ({ body, exchange }) => passwords.reset(body, exchange),
    getMe: ({ principal }) => accounts.me(principal)
  }
  return handlers
})

export const apiKeys = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const handlers: Handlers<"apiKeys"> = {
    list: ({ principal, query }) => keys.list(principal, query),
    create: ({ body, principal }) => keys.create(principal, body),
    update: ({ body, path, principal }) => keys.update(principal, path.key_id, body),
    revoke: ({ path, principal }) => keys.revoke(principal, path.key_id)
  }
  return handlers
})

export const workspaces = Effect.gen(function* () {
  const workspaces = yield* Workspaces
  const events = yield* EventStreams
  const members = yield* Members
  const usages = yield* Usages
  const handlers: Handlers<"workspaces"> = {
    list: ({ principal, query }) => workspaces.list(principal, query),
    get: ({ path, principal }) => workspaces.get(principal, path.workspace_id),
    update: ({ body, path, principal }) => workspaces.update(principal, path.workspace_id, body),
    getUsage: ({ path, principal, query }) => usages.workspace(principal, path.workspace_id, query),
    listEvents: ({ exchange, path, principal, query }) =>
      events.answerWorkspace(exchange, principal, path.workspace_id, query),
    listMembers: ({ path, principal, query }) => members.list(principal, path.workspace_id, query),
    addMember: ({ body, path, principal }) => members.add(principal, path.workspace_id, body),
    removeMember: ({ path, principal }) => members.remove(principal, path.workspace_id, path.account_id)
  }
  return handlers
})
