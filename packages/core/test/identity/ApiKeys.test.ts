import { assert, it, layer as withLayer } from "@effect/vitest"
import { ApiKeyId, newId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { fromNow } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Accounts } from "@reins/core/identity/Accounts"
import * as ApiKeySecret from "@reins/core/identity/ApiKeySecret"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Database } from "@reins/core/store/Database"
import { Idempotency } from "@reins/core/store/Idempotency"
import { everythingStored, identity, newAccount } from "@reins/testing/identity/Identity"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, ParseResult, Redacted, TestClock } from "effect"
import * as fc from "fast-check"
import { principalOf } from "./Principals.js"

const newOwner = Effect.map(newAccount, principalOf)

const personalWorkspace = (principal: Principal) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const me = yield* accounts.me(principal)
    return me.workspaces[0]?.id ?? (yield* Effect.dieMessage("no workspace"))
  })

const authenticate = (secret: string) => Effect.flatMap(ApiKeys, (keys) => keys.authenticate(Redacted.make(secret)))

for (const { name, layer } of flowDatabases) {
  withLayer(identity(layer))(`ApiKeys on ${name}`, (it) => {
    it.effect("a new key calls for its account with its scopes and workspace, and shows its secret once", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const accounts = yield* Accounts
        const owner = yield* newOwner
        const workspaceId = yield* personalWorkspace(owner)
        const { secret, ...key } = yield* keys.create(owner, {
          name: "ci",
          scopes: ["read", "write", "read"],
          workspace_id: workspaceId
        })
        assert.match(secret, /^rk_[0-9A-Za-z]{49}$/)
        assert.isTrue(secret.startsWith(key.prefix))
        assert.isTrue(secret.endsWith(key.last4))
        assert.deepStrictEqual(key.scopes, ["write", "read"])
        const principal = yield* authenticate(secret)
        assert.deepStrictEqual(principal, {
          accountId: owner.accountId,
          scopes: ["write", "read"],
          workspaceId,
          via: { kind: "api_key", keyId: key.id }
        })
        if (principal === undefined) return
        const me = yield* accounts.me(principal)
        assert.deepStrictEqual(me.auth, { via: "api_key", scopes: ["write", "read"], key_id: key.id })
        const listed = yield* keys.list(owner, {})
        assert.notProperty(listed.items[0], "secret")
        assert.notInclude(JSON.stringify(listed), secret)
      })
    )

    it.effect("a key has the scopes of its creator unless others are asked for, and never more", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const owner = yield* newOwner
        assert.deepStrictEqual((yield* keys.create(owner, { name: "all" })).scopes, ["admin"])
        const writer: Principal = { ...owner, scopes: ["write"] }
        const error = yield* Effect.flip(keys.create(writer, { name: "more", scopes: ["read"] }))
        assert.strictEqual(error._tag === "ReinsError" && error.code, "insufficient_scope")
        assert.strictEqual((yield* Effect.flip(keys.list(writer, {}))).code, "insufficient_scope")
        assert.strictEqual((yield* Effect.flip(keys.revoke(writer, "key_x"))).code, "insufficient_scope")
      })
    )

    it.effect("a key is bound to no workspace but one of its creator's", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const owner = yield* newOwner
        const foreign = yield* personalWorkspace(yield* newOwner)
        for (const workspace_id of [foreign, yield* newId(WorkspaceId)]) {
          const error = yield* Effect.flip(keys.create(owner, { name: "x", workspace_id }))
          assert.strictEqual(error._tag === "ReinsError" && error.code, "not_found")
        }
        assert.deepStrictEqual((yield* keys.list(owner, {})).items, [])
      })
    )

    it.effect("a creator that is bound to a workspace makes, sees and revokes keys of that workspace only", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const owner = yield* newOwner
        const workspaceId = yield* personalWorkspace(owner)
        const free = yield* keys.create(owner, { name: "free" })
        const bound: Principal = { ...owner, workspaceId }
        const made = yield* keys.create(bound, { name: "bound" })
        assert.strictEqual(made.workspace_id, workspaceId)
        assert.deepStrictEqual(
          (yield* keys.list(bound, {})).items.map((key) => key.id),
          [made.id]
        )
        assert.strictEqual((yield* Effect.flip(keys.revoke(bound, free.id))).code, "not_found")
        const foreign = yield* personalWorkspace(yield* newOwner)
        const error = yield* Effect.flip(keys.create(bound, { name: "x", workspace_id: foreign }))
        assert.strictEqual(error._tag === "ReinsError" && error.code, "not_found")
      })
    )

    it.effect("a revoked key is refused at once, and stays revoked since the first time", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const owner = yield* newOwner
        const key = yield* keys.create(owner, { name: "short-lived" })
        assert.isDefined(yield* authenticate(key.secret))
        const revoked = yield* keys.revoke(owner, key.id)
        assert.isNotNull(revoked.revoked_at)
        assert.isUndefined(yield* authenticate(key.secret))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* keys.revoke(owner, key.id), revoked)
      })
    )

    it.effect("a key of somebody else is answered like one that does not exist", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const owner = yield* newOwner
        const key = yield* keys.create(owner, { name: "mine" })
        const stranger = yield* newOwner
        const errors = yield* Effect.forEach([key.id, yield* newId(ApiKeyId), "key_1", "acct_1"], (id) =>
          Effect.flip(keys.revoke(stranger, id))
        )
        assert.deepStrictEqual(new Set(errors.map((error) => `${error.code} ${error.message}`)).size, 1)
        assert.strictEqual(errors[0]?.code, "not_found")
        assert.isDefined(yield* authenticate(key.secret))
      })
    )

    it.effect("a key works until it expires, and cannot be made with a time that has passed", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const owner = yield* newOwner
        const key = yield* keys.create(owner, { name: "a day", expires_at: yield* fromNow(24 * 3600 * 1000) })
        yield* TestClock.adjust("86399 seconds")
        assert.isDefined(yield* authenticate(key.secret))
        yield* TestClock.adjust("1 second")
        assert.isUndefined(yield* authenticate(key.secret))
        const error = yield* Effect.flip(keys.create(owner, { name: "past", expires_at: yield* fromNow(0) }))
        assert.strictEqual(error._tag, "RequestInvalid")
        if (error._tag === "RequestInvalid") assert.deepStrictEqual(error.loc, ["body", "expires_at"])
      })
    )

    it.effect("a key that expires makes none that outlives it, also not by way of another one", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const owner = yield* newOwner
        const expiry = yield* fromNow(60_000)
        const mother = yield* keys.create(owner, { name: "mother", expires_at: expiry })
        const caller = (yield* authenticate(mother.secret)) ?? (yield* Effect.dieMessage("the key is refused"))
        const daughter = yield* keys.create(caller, { name: "daughter" })
        assert.strictEqual(daughter.expires_at, expiry)
        const next = (yield* authenticate(daughter.secret)) ?? (yield* Effect.dieMessage("the key is refused"))
        for (const principal of [caller, next]) {
          const error = yield* Effect.flip(keys.create(principal, { name: "late", expires_at: yield* fromNow(60_001) }))
          if (error._tag !== "RequestInvalid") return assert.fail(error._tag)
          assert.deepStrictEqual(error.loc, ["body", "expires_at"])
          assert.include(ParseResult.TreeFormatter.formatIssueSync(error.issue), expiry)
        }
        const early = yield* fromNow(30_000)
        assert.strictEqual((yield* keys.create(caller, { name: "early", expires_at: early })).expires_at, early)
        assert.isNull((yield* keys.create(owner, { name: "for ever" })).expires_at)
      })
    )

    it.effect("the keys of a disabled account are refused", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const accounts = yield* Accounts
        const account = yield* newAccount
        const key = yield* keys.create(principalOf(account), { name: "x" })
        yield* accounts.disable(account.id)
        assert.isUndefined(yield* authenticate(key.secret))
      })
    )

    it.effect("a secret with a wrong checksum is refused without a look at the database", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const db = yield* Database
        const owner = yield* newOwner
        const { secret } = yield* keys.create(owner, { name: "x" })
        const changed = `rk_${secret[3] === "a" ? "b" : "a"}${secret.slice(4)}`
        // The digest of the changed secret is made to be the stored one: a look at the database would find it.
        yield* db.run(db.sql`update api_keys set hash = ${Token.digest(Redacted.make(changed))}
          where account_id = ${owner.accountId}`)
        assert.isUndefined(yield* authenticate(changed))
      })
    )

    it.effect("the last use is written at most once a minute", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const owner = yield* newOwner
        const key = yield* keys.create(owner, { name: "x" })
        assert.isNull(key.last_used_at)
        const lastUsed = Effect.gen(function* () {
          yield* authenticate(key.secret)
          return (yield* keys.list(owner, {})).items[0]?.last_used_at
        })
        const first = yield* lastUsed
        assert.isString(first)
        yield* TestClock.adjust("59 seconds")
        assert.strictEqual(yield* lastUsed, first)
        yield* TestClock.adjust("1 second")
        assert.notStrictEqual(yield* lastUsed, first)
      })
    )

    it.effect("the list goes from the newest key to the oldest, in pages", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const owner = yield* newOwner
        const made = yield* Effect.forEach([1, 2, 3, 4, 5], (number) => keys.create(owner, { name: `key ${number}` }))
        const seen: Array<string> = []
        let cursor: string | null | undefined
        while (cursor !== null) {
          const page = yield* keys.list(owner, { limit: 2, ...(cursor !== undefined && { cursor }) })
          seen.push(...page.items.map((key) => key.id))
          cursor = page.next_cursor
        }
        assert.deepStrictEqual(seen, made.map((key) => key.id).reverse())
        assert.strictEqual((yield* Effect.flip(keys.list(owner, { cursor: "?" }))).code, "invalid_cursor")
      })
    )

    it.effect("the operator makes a key for an active account, in a workspace of that account", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const accounts = yield* Accounts
        const account = yield* newAccount
        const owner = principalOf(account)
        const workspaceId = yield* personalWorkspace(owner)
        const key = yield* keys.issueFor(account.id, { name: "operator", scopes: ["read"], workspaceId })
        assert.deepStrictEqual((yield* authenticate(key.secret))?.scopes, ["read"])
        const foreign = yield* personalWorkspace(yield* newOwner)
        const wrong = keys.issueFor(account.id, { name: "x", scopes: ["read"], workspaceId: foreign })
        assert.strictEqual((yield* Effect.flip(wrong)).code, "not_found")
        yield* accounts.disable(account.id)
        const late = keys.issueFor(account.id, { name: "x", scopes: ["read"], workspaceId: null })
        assert.strictEqual((yield* Effect.flip(late)).code, "not_found")
      })
    )

    it.effect("the secret is not in the database, not even in the stored answer", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const idempotency = yield* Idempotency
        const owner = yield* newOwner
        const request = {
          scope: owner.accountId,
          key: "make a key",
          fingerprint: "POST /api/api-keys",
          sealed: true,
          command: keys.create(owner, { name: "x" }),
          encode: (result: unknown) => ({ status: 201, body: JSON.stringify(result) }),
          encodeError: () => ({ status: 500, body: null })
        }
        const first = yield* idempotency.run(request)
        const again = yield* idempotency.run(request)
        assert.deepStrictEqual(again.answer, first.answer)
        const secret: string = JSON.parse(first.answer.body ?? "{}").secret
        assert.include(first.answer.body ?? "", secret)
        const stored = yield* everythingStored
        assert.notInclude(stored, secret)
        assert.notInclude(stored, secret.slice(10))
      })
    )
  })
}

it.effect("a secret is refused when any one of its characters is changed", () =>
  Effect.gen(function* () {
    const secret = Redacted.value(yield* ApiKeySecret.make)
    assert.isTrue(ApiKeySecret.isWellFormed(Redacted.make(secret)))
    const character = fc.constantFrom(..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    fc.assert(
      fc.property(fc.nat(secret.length - 1), character, (at, other) => {
        const changed = secret.slice(0, at) + other + secret.slice(at + 1)
        assert.strictEqual(ApiKeySecret.isWellFormed(Redacted.make(changed)), changed === secret)
      })
    )
    for (const text of ["", "rk_", secret.slice(0, -1), `${secret}0`, `${secret}\n`, secret.replace("rk_", "sk_")]) {
      assert.isFalse(ApiKeySecret.isWellFormed(Redacted.make(text)), text)
    }
  })
)
