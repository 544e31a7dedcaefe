import { fn } from "@reins/base/base/Traced"
import type { AccountId, ApiKeyId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import {
  type AccountPrincipal,
  type AppAccess,
  keyOf as callingKeyOf,
  operator,
  type Principal
} from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { now, Timestamp } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Context, Effect, Layer, ParseResult, type Redacted } from "effect"
import { Access, type Denied, type ScopeMissing, type Unseen } from "../access/Access.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import type { ApiKeyInput, ApiKeyPatch } from "./AccountsApi.js"
import type { ApiKey, IssuedApiKey } from "./ApiKey.js"
import * as ApiKeySecret from "./ApiKeySecret.js"
import { ApiKeyStore, type KeyHolder } from "./ApiKeyStore.js"
import { makeIssue, type NewApiKey } from "./IssueKey.js"

export type { NewApiKey } from "./IssueKey.js"

/** Secrets that programs call with. A principal that is bound to a workspace sees and makes the keys of that workspace only. */
export class ApiKeys extends Context.Tag("@reins/core/identity/ApiKeys")<
  ApiKeys,
  {
    /** The keys of the account, revoked and expired ones too, newest first and without their secrets. Needs the scope `admin`. */
    readonly list: (
      principal: Principal,
      page: PageRequest
    ) => Effect.Effect<Page<ApiKey>, ScopeMissing | ReinsError<"invalid_cursor">>
    /**
     * A new key with at most the scopes of the caller, which are the default. Its secret is given this once and kept as a hash. Needs the scope
     * `admin`. Fails with `insufficient_scope` for a scope that the caller lacks, with `not_found` for a workspace that it may not see, and
     * with `RequestInvalid` for an expiry in the past. A key that expires makes none that outlives it: its own expiry is the default, and
     * a later one fails with `RequestInvalid`. A key that has a budget makes none, which is `forbidden`.
     */
    readonly create: (
      principal: Principal,
      input: typeof ApiKeyInput.Type
    ) => Command<IssuedApiKey, ScopeMissing | Denied | RequestInvalid>
    /**
     * Changes the budget of a key. Calls that wait for it look again. Needs the scope `admin`. Fails with `not_found` for a key that the
     * principal does not see, and with `forbidden` when a key calls that has a budget itself.
     */
    readonly update: (principal: Principal, keyId: string, patch: ApiKeyPatch) => Command<ApiKey, ScopeMissing | Denied>
    /**
     * The key is refused from the next request on. Revoking it again changes nothing. Needs the scope `admin`. Fails with `not_found` for a key
     * that the principal does not see.
     */
    readonly revoke: (principal: Principal, keyId: string) => Command<ApiKey, ScopeMissing | Unseen>
    /**
     * The principal that calls with the secret. Undefined when the secret is malformed, unknown, revoked or expired, its account is not
     * active, or the key is for a workspace that the account no longer belongs to.
     */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<AccountPrincipal | undefined>
    /** The principal of the key of an app, under the same conditions as `authenticate`. Its caller has proved that the app calls. */
    readonly authenticateApp: (keyId: ApiKeyId, app: AppAccess) => Effect.Effect<AccountPrincipal | undefined>
    /**
     * Makes a key that does not expire for an account, on behalf of the operator. Its secret is given this once. Fails with `not_found` when the
     * account is not active or does not belong to the workspace.
     */
    readonly issueFor: (accountId: AccountId, key: NewApiKey) => Command<IssuedApiKey, Unseen>
  }
>() {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const store = yield* ApiKeyStore
      const budgets = yield* BudgetStore

      const { issue, issueFor, shown } = yield* makeIssue

      const principalOf = Effect.fnUntraced(function* (holder: KeyHolder | undefined) {
        if (holder === undefined || (holder.expires_at !== null && holder.expires_at <= (yield* now))) return undefined
        // A call is not refused because its time could not be written down.
        yield* Effect.catchAllDefect(store.noteUse(holder), (defect) =>
          Effect.logWarning("the last use of an API key was not written", defect, { key_id: holder.id })
        )
        const principal: AccountPrincipal = {
          accountId: holder.account_id,
          scopes: holder.scopes,
          workspaceId: holder.workspace_id,
          via: { kind: "api_key", keyId: holder.id }
        }
        return principal
      })

      return ApiKeys.of({
        list: fn("ApiKeys.list")(function* (principal, request) {
          yield* access.requireScope(principal, "admin")
          const page = yield* store.list(principal, request)
          const found = yield* budgets.findAll(page.items.map(({ id }) => id))
          return Keyset.map(page, (key): ApiKey => ({ ...key, budget: found.get(key.id) ?? null }))
        }),
        create: (principal, input) =>
          journal.prepared(
            "ApiKeys.create",
            { by: principal, about: { type: "account", id: principal.accountId } },
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              yield* requireUnlimited(budgets, principal)
              const scopes = input.scopes ?? principal.scopes
              yield* Effect.forEach(scopes, (scope) => access.requireScope(principal, scope), { discard: true })
              const workspaceId = input.workspace_id ?? principal.workspaceId
              const keyId = callingKeyOf(principal)
              const callerExpiresAt = keyId === null ? null : yield* store.expiryOf(keyId)
              const expiresAt = input.expires_at ?? callerExpiresAt
              yield* refusePast(expiresAt)
              yield* refuseOutliving(expiresAt, callerExpiresAt)
              return Effect.gen(function* () {
                if (workspaceId !== null) yield* access.read(principal, workspaceId)
                return yield* issue(
                  principal.accountId,
                  { name: input.name, scopes, workspaceId },
                  expiresAt,
                  input.budget
                )
              })
            })
          ),
        update: (principal, keyId, { budget }) =>
          journal.command(
            "ApiKeys.update",
            { by: principal, about: { type: "api_key", id: keyId } },
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              yield* requireUnlimited(budgets, principal)
              const key = (yield* store.find(principal, keyId)) ?? (yield* notFound())
              if (budget !== undefined) yield* budgets.set(key.id, budget)
              return yield* shown(key)
            })
          ),
        revoke: (principal, keyId) =>
          journal.prepared(
            "ApiKeys.revoke",
            { by: principal, about: { type: "api_key", id: keyId }, refusable: false },
            Effect.as(
              access.requireScope(principal, "admin"),
              Effect.flatMap(store.revoke(principal, keyId), (key) =>
                key === undefined ? Effect.fail(notFound()) : shown(key)
              )
            )
          ),
        authenticate: fn("ApiKeys.authenticate")(function* (secret) {
          if (!ApiKeySecret.isWellFormed(secret)) return undefined
          return yield* principalOf(yield* store.findHolder(Token.digest(secret)))
        }),
        authenticateApp: fn("ApiKeys.authenticateApp")(function* (keyId, app) {
          const principal = yield* principalOf(yield* store.findAppHolder(keyId))
          return principal && { ...principal, via: { kind: "api_key", keyId, app } }
        }),
        issueFor: (accountId, key) =>
          journal.command(
            "ApiKeys.issueFor",
            { by: operator, about: { type: "account", id: accountId } },
            issueFor(accountId, key)
          )
      })
    })
  )
}

/** A key that has a budget would get around it with another key, or by raising the budgets above it. */
export const requireUnlimited = (
  budgets: BudgetStore["Type"],
  principal: Principal
): Effect.Effect<void, ReinsError<"forbidden">> => {
  const keyId = callingKeyOf(principal)
  return keyId === null
    ? Effect.void
    : Effect.flatMap(budgets.find(keyId), (budget) =>
        budget === null
          ? Effect.void
          : new ReinsError({
              code: "forbidden",
              message:
                "The API key that calls has a budget, so it neither makes keys nor changes the budgets of keys and workspaces. " +
                "Use a key without a budget, or log in."
            })
      )
}

const refusePast = Effect.fnUntraced(function* (expiresAt: Timestamp | null) {
  if (expiresAt !== null && expiresAt <= (yield* now))
    return yield* expiryInvalid(expiresAt, "The time of expiry must be in the future")
})

const refuseOutliving = (expiresAt: Timestamp | null, callerExpiresAt: Timestamp | null) =>
  expiresAt !== null && callerExpiresAt !== null && expiresAt > callerExpiresAt
    ? Effect.fail(
        expiryInvalid(expiresAt, `The key that calls expires at ${callerExpiresAt}, and makes none that outlives it`)
      )
    : Effect.void

const expiryInvalid = (expiresAt: Timestamp, why: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", "expires_at"],
    issue: new ParseResult.Type(Timestamp.ast, expiresAt, why),
    input: expiresAt
  })
