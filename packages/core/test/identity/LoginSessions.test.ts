import { assert, layer as withLayer } from "@effect/vitest"
import type { Account } from "@reins/core/domain/Account"
import type { ReinsError } from "@reins/core/domain/ReinsError"
import { Accounts } from "@reins/core/identity/Accounts"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { Passwords } from "@reins/core/identity/Passwords"
import { Database } from "@reins/core/store/Database"
import {
  everythingStored,
  goodPassword,
  identity,
  newAccount,
  newEmail,
  nextMail,
  tokenIn
} from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Redacted, TestClock } from "effect"

let clients = 0
const newClient = () => ({ clientAddress: `198.51.100.${++clients}` })

const loginAs = (account: Account) =>
  Effect.flatMap(LoginSessions, (logins) => logins.login({ email: account.email, password: goodPassword }, newClient()))

const failAs = (email: string, client = newClient()) =>
  Effect.flatMap(LoginSessions, (logins) => Effect.flip(logins.login({ email, password: "wrong password" }, client)))

const seen = (error: ReinsError) => ({ code: error.code, message: error.message, details: error.details })

for (const { name, layer } of databases) {
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
        yield* accounts.register({ email, password: goodPassword })
        assert.strictEqual((yield* failAs(email)).code, "invalid_credentials")
        const error = yield* Effect.flip(logins.login({ email, password: goodPassword }, newClient()))
        assert.strictEqual(error.code, "email_unverified")
        yield* accounts.verifyEmail({ token: tokenIn(yield* nextMail(email)) })
        yield* logins.login({ email, password: goodPassword }, newClient())
      })
    )

    it.effect("10 failures of an address stop its logins, right or wrong, until the first is 15 minutes old", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        for (let time = 0; time < 10; time++) {
          assert.strictEqual((yield* failAs(account.email)).code, "invalid_credentials")
          yield* TestClock.adjust("1 minute")
        }
        const refused = yield* Effect.flip(loginAs(account))
        assert.strictEqual(refused.code, "rate_limited")
        assert.strictEqual(refused.status, 429)
        assert.strictEqual(refused.retryAfterSeconds, 5 * 60)
        yield* TestClock.adjust("299 seconds")
        assert.strictEqual((yield* Effect.flip(loginAs(account))).retryAfterSeconds, 1)
        yield* TestClock.adjust("1 second")
        yield* loginAs(account)
      })
    )

    it.effect("failures of an address that does not exist count like those of one that does", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const unknown = newEmail()
        const answers = (email: string) =>
          Effect.map(
            Effect.forEach(Array.from({ length: 12 }), () => failAs(email)),
            (errors) => errors.map((error) => [error.code, error.message, error.retryAfterSeconds])
          )
        const known = yield* answers(account.email)
        assert.strictEqual(known.filter(([code]) => code === "rate_limited").length, 2)
        assert.deepStrictEqual(yield* answers(unknown), known)
      })
    )

    it.effect("50 failures of one client stop it for every address, and no other client", () =>
      Effect.gen(function* () {
        const client = newClient()
        const logins = yield* LoginSessions
        const account = yield* newAccount
        for (let time = 0; time < 50; time++) {
          assert.strictEqual((yield* failAs(newEmail(), client)).code, "invalid_credentials")
        }
        const input = { email: account.email, password: goodPassword }
        assert.strictEqual((yield* Effect.flip(logins.login(input, client))).code, "rate_limited")
        yield* logins.login(input, newClient())
        yield* TestClock.adjust("15 minutes")
        yield* logins.login(input, client)
      })
    )

    it.effect("guesses made at the same time learn no more than those made one by one", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const errors = yield* Effect.all(
          Array.from({ length: 30 }, () => failAs(account.email)),
          { concurrency: "unbounded" }
        )
        const answered = errors.filter((error) => error.code === "invalid_credentials").length
        assert.isAtMost(answered, 10)
        assert.strictEqual(errors.filter((error) => error.code === "rate_limited").length, 30 - answered)
      })
    )

    it.effect("a login that succeeds forgets the failures of its address", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        for (let time = 0; time < 9; time++) yield* failAs(account.email)
        yield* loginAs(account)
        for (let time = 0; time < 9; time++) {
          assert.strictEqual((yield* failAs(account.email)).code, "invalid_credentials")
        }
        yield* loginAs(account)
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

    it.effect("neither the token nor the addresses that failed lie in the database", () =>
      Effect.gen(function* () {
        const { token } = yield* loginAs(yield* newAccount)
        const typo = "this was the password 9"
        yield* failAs(typo, { clientAddress: "203.0.113.99" })
        const stored = yield* everythingStored
        for (const secret of [Redacted.value(token), typo, "203.0.113.99"]) assert.notInclude(stored, secret)
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
        assert.strictEqual((yield* db.all(db.sql`select id from throttle_hits`)).length, 2)
      })
    )
  })
}
