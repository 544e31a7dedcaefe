import { type AccountId, ApiKeyId, newId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound } from "@reins/base/domain/ReinsError"
import type { Scope } from "@reins/base/domain/Scope"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Effect, Redacted } from "effect"
import { Access } from "../access/Access.js"
import type { BudgetInput } from "../budgets/Budget.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import { AccountStore } from "./AccountStore.js"
import type { ApiKey } from "./ApiKey.js"
import * as ApiKeySecret from "./ApiKeySecret.js"
import { ApiKeyStore, type StoredApiKey } from "./ApiKeyStore.js"

/** A key that the operator wants. */
export interface NewApiKey {
  /** Tells people what the key is for. */
  readonly name: string
  /** The acts that the key allows. `admin` includes `write`, which includes `act`, which includes `read`. */
  readonly scopes: ReadonlyArray<Scope>
  /** The only workspace that the key may touch; null is every workspace of the account. */
  readonly workspaceId: WorkspaceId | null
}

/** Makes keys, and shows keys with their budgets. */
export const makeIssue = Effect.gen(function* () {
  const access = yield* Access
  const accounts = yield* AccountStore
  const store = yield* ApiKeyStore
  const budgets = yield* BudgetStore

  const shown = (key: StoredApiKey): Effect.Effect<ApiKey> =>
    Effect.map(budgets.find(key.id), (budget) => ({ ...key, budget }))

  const issue = Effect.fnUntraced(function* (
    accountId: AccountId,
    wanted: NewApiKey,
    expiresAt: Timestamp | null,
    budget?: BudgetInput
  ) {
    const secret = yield* ApiKeySecret.make
    const key = yield* keyOf(secret, wanted, expiresAt)
    yield* store.insert(accountId, key, Token.digest(secret))
    if (budget !== undefined) yield* budgets.set(key.id, budget)
    return { ...(yield* shown(key)), secret: Redacted.value(secret) }
  })

  const requireMember = Effect.fnUntraced(function* (accountId: AccountId, workspaceId: WorkspaceId | null) {
    const account = yield* accounts.find(accountId)
    if (account?.state !== "active") return yield* notFound()
    const owner: Principal = { accountId, scopes: ["admin"], workspaceId: null, via: { kind: "embedded" } }
    if (workspaceId !== null) yield* access.read(owner, workspaceId)
  })

  /** Makes a key that does not expire for an active account, and for a workspace that it belongs to. */
  const issueFor = Effect.fnUntraced(function* (accountId: AccountId, wanted: NewApiKey) {
    yield* requireMember(accountId, wanted.workspaceId)
    return yield* issue(accountId, wanted, null)
  })

  /** Makes the key by which an app acts for an active account in a workspace of it. Its secret is thrown away, so only tokens lead to it. */
  const issueForApp = Effect.fnUntraced(function* (accountId: AccountId, wanted: NewApiKey, expiresAt: Timestamp) {
    yield* requireMember(accountId, wanted.workspaceId)
    const secret = yield* ApiKeySecret.make
    const key = yield* keyOf(secret, wanted, expiresAt)
    yield* store.insert(accountId, { ...key, prefix: "", last4: "" }, Token.digest(secret), true)
    return key.id
  })

  return { issue, issueFor, issueForApp, shown }
})

const keyOf = Effect.fnUntraced(function* (
  secret: Redacted.Redacted,
  { name, scopes, workspaceId }: NewApiKey,
  expiresAt: Timestamp | null
) {
  const text = Redacted.value(secret)
  const key: StoredApiKey = {
    id: yield* newId(ApiKeyId),
    name,
    prefix: text.slice(0, 7),
    last4: text.slice(-4),
    scopes: allScopes.filter((scope) => scopes.includes(scope)),
    workspace_id: workspaceId,
    expires_at: expiresAt,
    last_used_at: null,
    revoked_at: null,
    created_at: yield* now
  }
  return key
})

/** The order in which the scopes of a key are listed. */
const allScopes: ReadonlyArray<Scope> = ["admin", "write", "act", "read"]
