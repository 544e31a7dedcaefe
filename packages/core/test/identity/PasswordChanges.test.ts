import { assert, layer as withLayer } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import type { Account } from "@reins/core/identity/Account"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { PasswordChanges } from "@reins/core/identity/PasswordChanges"
import { Passwords } from "@reins/core/identity/Passwords"
import { Database } from "@reins/core/store/Database"
import { Idempotency } from "@reins/core/store/Idempotency"
import {
  countRows,
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
import { Effect, Either, Redacted, TestClock } from "effect"

const newPassword = "the otter sleeps on its back"
const client = { clientAddress: "192.0.2.1" }

const logIn = (account: Account, password = goodPassword) =>
  Effect.gen(function* () {
    const logins = yield* LoginSessions
    const { token } = yield* logins.login({ email: account.email, password }, client)
    const principal = yield* logins.authenticate(token)
    return { token, principal: principal ?? (yield* Effect.dieMessage("not logged in")) }
  })

const isLoggedIn = ({ token }: { readonly token: Redacted.Redacted }) =>
  Effect.flatMap(LoginSessions, (logins) => Effect.map(logins.authenticate(token), (found) => found !== undefined))

const change = (principal: Principal, current: string, next = newPassword) =>
  Effect.flatMap(PasswordChanges, (changes) =>
    changes.change(principal, { current_password: current, new_password: next }, client)
  )

const codeOf = (error: { readonly _tag: string; readonly code?: string }) => error.code ?? error._tag

const requestReset = (email: string) =>
  Effect.flatMap(PasswordChanges, (changes) => changes.reset({ email }, newClient()))

const resetToken = (email: string) => Effect.map(Effect.zipRight(requestReset(email), nextMail(email)), tokenIn)

const reset = (token: string, password = newPassword) =>
  Effect.flatMap(PasswordChanges, (changes) => changes.reset({ token, new_password: password }, newClient()))

for (const { name, layer } of flowDatabases) {
  withLayer(identity(layer))(`PasswordChanges on ${name}`, (it) => {
    it.effect("a change keeps the login it was made by, ends the others and tells how many, and mails the owner", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const present = yield* logIn(account)
        const others = [yield* logIn(account), yield* logIn(account)]
        const stranger = yield* logIn(yield* newAccount)
        assert.deepStrictEqual(yield* change(present.principal, goodPassword), {
          status: "changed",
          sessions_revoked: 2
        })
        assert.deepStrictEqual(yield* Effect.forEach([present, ...others, stranger], isLoggedIn), [
          true,
          false,
          false,
          true
        ])
        assert.strictEqual(codeOf(yield* Effect.flip(logIn(account))), "invalid_credentials")
        yield* logIn(account, newPassword)
        assert.strictEqual((yield* nextMail(account.email)).subject, "Your password was changed")
      })
    )

    it.effect("a change by an API key ends every login and leaves the keys; a key for one workspace may not", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const accounts = yield* Accounts
        const account = yield* newAccount
        const login = yield* logIn(account)
        const { workspaces } = yield* accounts.me(login.principal)
        const bound = yield* keys.create(login.principal, {
          name: "bound",
          ...(workspaces[0] !== undefined && { workspace_id: workspaces[0].id })
        })
        const free = yield* keys.create(login.principal, { name: "free" })
        const principalOf = (secret: string) =>
          Effect.flatMap(keys.authenticate(Redacted.make(secret)), (found) =>
            found === undefined ? Effect.dieMessage("refused") : Effect.succeed(found)
          )
        const refused = yield* Effect.flip(change(yield* principalOf(bound.secret), goodPassword))
        assert.strictEqual(codeOf(refused), "forbidden")
        const writer: Principal = { ...login.principal, scopes: ["write"] }
        assert.strictEqual(codeOf(yield* Effect.flip(change(writer, goodPassword))), "insufficient_scope")
        const changed = yield* change(yield* principalOf(free.secret), goodPassword)
        assert.strictEqual(changed.sessions_revoked, 1)
        assert.isFalse(yield* isLoggedIn(login))
        yield* principalOf(free.secret)
      })
    )

    it.effect("a wrong current password changes nothing and counts like a failed login", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const { principal } = yield* logIn(account)
        for (let time = 0; time < 10; time++) {
          assert.strictEqual(codeOf(yield* Effect.flip(change(principal, "not the one"))), "invalid_credentials")
        }
        assert.strictEqual(codeOf(yield* Effect.flip(change(principal, goodPassword))), "rate_limited")
        assert.strictEqual(codeOf(yield* Effect.flip(logIn(account))), "rate_limited")
        yield* TestClock.adjust("15 minutes")
        yield* logIn(account)
      })
    )

    it.effect("a new password obeys the rules of a first one, and is not repeated in the answer", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const { principal } = yield* logIn(account)
        const token = yield* resetToken(account.email)
        for (const password of ["Password123!", account.email, "short"]) {
          for (const error of [
            yield* Effect.flip(change(principal, goodPassword, password)),
            yield* Effect.flip(reset(token, password))
          ]) {
            assert.strictEqual(error._tag, "RequestInvalid")
            if (error._tag === "RequestInvalid") assert.deepStrictEqual(error.loc, ["body", "new_password"])
            assert.notInclude(JSON.stringify(error), password)
          }
        }
        // The token was not used up by them.
        yield* reset(token)
      })
    )

    it.effect("a mailed token sets the password once, ends every login and logs nobody in", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const logins = [yield* logIn(account), yield* logIn(account)]
        const first = yield* resetToken(account.email)
        const second = yield* resetToken(account.email)
        assert.deepStrictEqual(yield* reset(second), { status: "reset" })
        assert.deepStrictEqual(yield* Effect.forEach(logins, isLoggedIn), [false, false])
        for (const token of [first, second, "x".repeat(43)]) {
          assert.strictEqual(codeOf(yield* Effect.flip(reset(token, "yet another good one"))), "token_expired")
        }
        yield* logIn(account, newPassword)
        assert.strictEqual((yield* nextMail(account.email)).subject, "Your password was changed")
      })
    )

    it.effect("a token is good for one hour, and for nothing after the password was changed", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const late = yield* resetToken(account.email)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(codeOf(yield* Effect.flip(reset(late))), "token_expired")
        const token = yield* resetToken(account.email)
        yield* change((yield* logIn(account)).principal, goodPassword)
        assert.strictEqual(codeOf(yield* Effect.flip(reset(token))), "token_expired")
      })
    )

    it.effect("of many who use one token at the same time, one succeeds", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const token = yield* resetToken(account.email)
        const results = yield* Effect.all(
          Array.from({ length: 8 }, (_, index) => Effect.either(reset(token, `${newPassword} ${index}`))),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter(Either.isRight).length, 1)
      })
    )

    it.effect("a token verifies no address, and a token of a verification resets no password", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const token = yield* resetToken((yield* newAccount).email)
        assert.strictEqual(codeOf(yield* Effect.flip(accounts.verifyEmail({ token }))), "token_expired")
        const email = newEmail()
        yield* accounts.register({ email, password: goodPassword }, newClient())
        const other = tokenIn(yield* nextMail(email))
        assert.strictEqual(codeOf(yield* Effect.flip(reset(other))), "token_expired")
      })
    )

    it.effect(
      "asking is answered the same for every address; unverified ones get their verification, others a link",
      () =>
        Effect.gen(function* () {
          const accounts = yield* Accounts
          const active = yield* newAccount
          const disabled = yield* newAccount
          yield* accounts.disable(disabled.id)
          const unverified = newEmail()
          yield* accounts.register({ email: unverified, password: goodPassword }, newClient())
          yield* nextMail(unverified)
          const answers = yield* Effect.forEach(
            [active.email.toUpperCase(), disabled.email, unverified, newEmail()],
            requestReset
          )
          assert.deepStrictEqual(
            new Set(answers.map((answer) => JSON.stringify(answer))),
            new Set(['{"status":"accepted"}'])
          )
          assert.strictEqual((yield* nextMail(active.email)).subject, "Choose a new password")
          assert.strictEqual((yield* nextMail(unverified)).subject, "Verify your e-mail address")
          assert.strictEqual(yield* countRows("one_time_tokens", "subject_id", disabled.id), 0)
        })
    )

    it.effect("at most 3 mails go to an account in an hour, also when they are asked for at once", () =>
      Effect.gen(function* () {
        const { email, id } = yield* newAccount
        yield* Effect.all(
          Array.from({ length: 8 }, () => requestReset(email)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(yield* countRows("jobs", "subject_id", id), 3)
        yield* TestClock.adjust("1 hour")
        yield* requestReset(email)
        assert.strictEqual(yield* countRows("jobs", "subject_id", id), 4)
      })
    )

    it.effect("whoever was locked out by failed logins is let in after a reset", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        for (let time = 0; time < 10; time++) yield* Effect.flip(logIn(account, "not the one"))
        assert.strictEqual(codeOf(yield* Effect.flip(logIn(account))), "rate_limited")
        yield* reset(yield* resetToken(account.email))
        yield* logIn(account, newPassword)
      })
    )

    it.effect("a login that is being checked while the password changes does not outlive the change", () =>
      Effect.gen(function* () {
        const changes = yield* PasswordChanges
        const logins = yield* LoginSessions
        for (let round = 0; round < 5; round++) {
          const account = yield* newAccount
          const token = yield* resetToken(account.email)
          const [late] = yield* Effect.all(
            [
              Effect.either(logins.login({ email: account.email, password: goodPassword }, client)),
              changes.reset({ token, new_password: newPassword }, newClient())
            ],
            { concurrency: "unbounded" }
          )
          if (Either.isRight(late)) assert.isFalse(yield* isLoggedIn(late.right))
          else assert.strictEqual(codeOf(late.left), "invalid_credentials")
        }
      })
    )

    it.effect("neither passwords nor tokens lie in the database, also not in the records of repeated requests", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const changes = yield* PasswordChanges
        const account = yield* newAccount
        const unused = yield* resetToken(account.email)
        const token = yield* resetToken(account.email)
        const canary = "canary in a coal mine 78"
        const request = {
          scope: "anonymous",
          key: account.id,
          fingerprint: JSON.stringify({ token, new_password: canary }),
          sealed: false,
          command: changes.reset({ token, new_password: canary }, newClient()),
          encode: (result: unknown) => ({ status: 200, body: JSON.stringify(result) }),
          encodeError: () => ({ status: 500, body: null })
        }
        const replayed = [yield* idempotency.run(request), yield* idempotency.run(request)]
        assert.deepStrictEqual(
          replayed.map((answer) => [answer.replayed, answer.answer.body]),
          [
            [false, '{"status":"reset"}'],
            [true, '{"status":"reset"}']
          ]
        )
        const stored = yield* everythingStored
        for (const secret of [canary, token, unused]) assert.notInclude(stored, secret)
      })
    )

    it.effect("a password that is renewed at another cost by two logins at once lets both in", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const account = yield* newAccount
        const old = yield* Passwords.make({ memoryKiB: 32, passes: 2, concurrency: 1, maxWaiting: 1 })
        const hash = yield* old.hash(Redacted.make(goodPassword))
        yield* db.run(db.sql`update accounts set password_hash = ${hash} where id = ${account.id}`)
        const both = yield* Effect.all([logIn(account), logIn(account)], { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* Effect.forEach(both, isLoggedIn), [true, true])
      })
    )
  })
}
