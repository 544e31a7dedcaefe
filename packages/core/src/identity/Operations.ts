import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { Accounts } from "./Accounts.js"
import type { AccountsApi, ApiKeysApi } from "./AccountsApi.js"
import { ApiKeys } from "./ApiKeys.js"
import type { operationErrors } from "./Errors.js"
import { Members } from "./Members.js"
import { Workspaces } from "./Workspaces.js"
import type { WorkspacesApi } from "./WorkspacesApi.js"

/** The other operations of accounts need the client of a request, or change its login. */
type OfDoor = "register" | "login" | "logout" | "verifyEmail" | "changePassword" | "resetPassword"

export const accounts = Effect.gen(function* () {
  const accounts = yield* Accounts
  const operations: Operations<typeof AccountsApi, typeof operationErrors, OfDoor> = {
    getMe: ({ principal }) => accounts.me(principal),
    updateMe: ({ body, principal }) => accounts.updateMe(principal, body)
  }
  return operations
})

export const apiKeys = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const operations: Operations<typeof ApiKeysApi, typeof operationErrors> = {
    list: ({ principal, query }) => keys.list(principal, query),
    create: ({ body, principal }) => keys.create(principal, body),
    update: ({ body, path, principal }) => keys.update(principal, path.key_id, body),
    revoke: ({ path, principal }) => keys.revoke(principal, path.key_id)
  }
  return operations
})

export const workspaces = Effect.gen(function* () {
  const workspaces = yield* Workspaces
  const members = yield* Members
  const operations: Operations<typeof WorkspacesApi, typeof operationErrors> = {
    list: ({ principal, query }) => workspaces.list(principal, query),
    create: ({ body, principal }) => workspaces.create(principal, body),
    get: ({ path, principal }) => workspaces.get(principal, path.workspace_id),
    update: ({ body, path, principal }) => workspaces.update(principal, path.workspace_id, body),
    listMembers: ({ path, principal, query }) => members.list(principal, path.workspace_id, query),
    addMember: ({ body, path, principal }) => members.add(principal, path.workspace_id, body),
    removeMember: ({ path, principal }) => members.remove(principal, path.workspace_id, path.account_id),
    leave: ({ path, principal }) => members.leave(principal, path.workspace_id)
  }
  return operations
})
