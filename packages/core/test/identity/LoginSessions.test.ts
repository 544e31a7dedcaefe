import { assert, layer as withLayer } from "@effect/vitest"
import { Accounts } from "@reins/core/identity/Accounts"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { Passwords } from "@reins/core/identity/Passwords"
import { Database } from "@reins/core/store/Database"
import {
  everythingStored,
  goodPassword,
  identity,
  newAccount,
  newClient,
  newEmail,
  nextMail,
  tokenIn
} from "@reins/testing/identity/Identity"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted, TestClock } from "effect"
import { failAs, loginAs, seen } from "./Logins.js"

for (const { name, layer } of flowDatabases) {
  withLayer(identity(layer))(`LoginSessions on ${name}`, (it) => {
    it.effect("a login gives an unguessable token that stands for the account with every scope", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const accounts = yield* Accounts
        const account = yield* newAccount
        const first = yield* loginAs(account)
        const second = yield* loginAs(account)
        assert.match(Redacted.value(first.token), /^[\w-]{43}$/)
        assert.notStrictEqual(Redacted.value(first.token), Redacted.value(second.token))
        assert.deepStrictEqual(first.login, {
          account,
          csrf_token: first.csrfToken,
          expires_at: first.expiresAt
        })
        const principal = yield* logins.authenticate(first.token)
        assert.isDefined(principal)
        if (principal === undefined) return
        assert.deepStrictEqual(
          [principal.accountId, principal.scopes, principal.workspaceId],
          [account.id, ["admin"], null]
        )
        const me = yield* accounts.me(principal)
        assert.strictEqual(me.csrf_token, first.csrfToken)
        assert.strictEqual(me.auth.via, "login")
        assert.strictEqual(me.workspaces.length, 1)
        assert.isUndefined(yield* logins.authenticate(Redacted.make("x".repeat(43))))
        assert.isUndefined(yield* logins.authenticate(Redacted.make("")))
      })
    )

    it.effect("the address of a login is compared without case and outer space", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const same = yield* loginAs({ ...account, email: ` ${account.email.toUpperCase()} ` })
        assert.strictEqual(same.login.account.id, account.id)
      })
    )

    it.effect("a wrong password, an unknown address and a disabled account fail alike", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const accounts = yield* Accounts
        const account = yield* newAccount
        const disabled = yield* newAccount
        yield* accounts.disable(disabled.id)
        const errors = [
          yield* failAs(account.email),
          yield* failAs(newEmail()),
          yield* Effect.flip(logins.login({ email: disabled.email, password: goodPassword }, newClient()))
        ]
        assert.strictEqual(errors[0]?.code, "invalid_credentials")
        assert.strictEqual(errors[0]?.status, 401)
        assert.strictEqual(new Set(errors.map((error) => JSON.stringify(seen(error)))).size, 1)
      })
    )

    it.effect("that an address is not verified is told to whoever knows its password, and to nobody else", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const accounts = yield* Accounts
        const email = newEmail()
        yield* accounts.register({ email, password: goodPassword }, newClient())
        assert.strictEqual((yield* failAs(email)).code, "invalid_credentials")
        const error = yield* Effect.flip(logins.login({ email, password: goodPassword }, newClient()))
        assert.strictEqual(error.code, "email_unverified")
        yield* accounts.verifyEmail({ token: tokenIn(yield* nextMail(email)) })
        yield* logins.login({ email, password: goodPassword }, newClient())
      })
    )

    it.effect("a login ends after 7 days without use, and after 30 days in any case", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const account = yield* newAccount
        const idle = yield* loginAs(account)
        const busy = yield* loginAs(account)
        for (let day = 0; day < 29; day++) {
          yield* TestClock.adjust("1 day")
          assert.isDefined(yield* logins.authenticate(busy.token))
          if (day === 5) assert.isDefined(yield* logins.authenticate(idle.token))
          if (day === 12) assert.isUndefined(yield* logins.authenticate(idle.token))
        }
        yield* TestClock.adjust("1 day")
        assert.isUndefined(yield* logins.authenticate(busy.token))
      })
    )

    it.effect("the last use is written at most once a minute", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const db = yield* Database
        const { token, login } = yield* loginAs(yield* newAccount)
        const lastSeen = Effect.gen(function* () {
          yield* logins.authenticate(token)
          const row = yield* db.first(db.sql<{ last_seen_at: string }>`select last_seen_at from login_sessions
            where account_id = ${login.account.id}`)
          return row?.last_seen_at
        })
        const first = yield* lastSeen
        yield* TestClock.adjust("59 seconds")
        assert.strictEqual(yield* lastSeen, first)
        yield* TestClock.adjust("1 second")
        const second = yield* lastSeen
        assert.notStrictEqual(second, first)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* lastSeen, second)
      })
    )

    it.effect("logging out ends that login at once, and no other one", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const account = yield* newAccount
        const first = yield* loginAs(account)
        const second = yield* loginAs(account)
        const principal = yield* logins.authenticate(first.token)
        if (principal === undefined) return assert.fail("not logged in")
        yield* logins.logout(principal)
        assert.isUndefined(yield* logins.authenticate(first.token))
        yield* logins.logout(principal)
        yield* logins.logout({ ...principal, via: { kind: "embedded" } })
        assert.isDefined(yield* logins.authenticate(second.token))
      })
    )

    it.effect("disabling an account ends its logins at once", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const accounts = yield* Accounts
        const account = yield* newAccount
        const { token } = yield* loginAs(account)
        yield* accounts.disable(account.id)
        assert.isUndefined(yield* logins.authenticate(token))
      })
    )

    it.effect("a CSRF token is good for the login that it was given to, and for no other", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const account = yield* newAccount
        const first = yield* loginAs(account)
        const second = yield* loginAs(account)
        const principal = yield* logins.authenticate(first.token)
        if (principal === undefined) return assert.fail("not logged in")
        assert.isTrue(logins.verifyCsrf(principal, first.csrfToken))
        for (const token of [second.csrfToken, "", "memory.", `${first.csrfToken}x`, first.csrfToken.slice(0, -1)]) {
          assert.isFalse(logins.verifyCsrf(principal, token), token)
        }
        assert.isFalse(logins.verifyCsrf({ ...principal, via: { kind: "embedded" } }, first.csrfToken))
      })
    )

    it.effect("a password hash of another cost is renewed by the login that proves the password", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const passwords = yield* Passwords
        const account = yield* newAccount
        const old = yield* Passwords.make({ memoryKiB: 32, passes: 2, concurrency: 1, maxWaiting: 1 })
        const hash = yield* old.hash(Redacted.make(goodPassword))
        yield* db.run(db.sql`update accounts set password_hash = ${hash} where id = ${account.id}`)
        yield* loginAs(account)
        const row = yield* db.first(db.sql<{ password_hash: string }>`select password_hash from accounts
          where id = ${account.id}`)
        assert.isFalse(passwords.needsRehash(row?.password_hash ?? ""))
        yield* loginAs(account)
      })
    )

    it.effect("neither the token nor the addresses that came or failed lie in the database", () =>
      Effect.gen(function* () {
        const { token } = yield* loginAs(yield* newAccount, { clientAddress: "203.0.113.98" })
        const typo = "this was the password 9"
        yield* failAs(typo, { clientAddress: "203.0.113.99" })
        const stored = yield* everythingStored
        for (const secret of [Redacted.value(token), typo, "203.0.113.99", "203.0.113.98"])
          assert.notInclude(stored, secret)
      })
    )

    it.effect("purging deletes ended logins and old failures, and keeps what counts", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const db = yield* Database
        const account = yield* newAccount
        yield* loginAs(account)
        yield* failAs(account.email)
        yield* TestClock.adjust("8 days")
        const { token } = yield* loginAs(account)
        yield* failAs(account.email)
        yield* logins.purge
        assert.isDefined(yield* logins.authenticate(token))
        const left = yield* db.all(db.sql`select id from login_sessions`)
        assert.strictEqual(left.length, 1)
        assert.strictEqual((yield* db.all(db.sql`select id from throttle_hits`)).length, 3)
        const knownClients = Effect.map(db.all(db.sql`select subject from known_clients`), ({ length }) => length)
        const before = yield* knownClients
        yield* TestClock.adjust("83 days")
        yield* logins.purge
        assert.strictEqual(yield* knownClients, 1)
        assert.isAbove(before, 1)
      })
    )
  })
}
