import { assert, layer as withLayer } from "@effect/vitest"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { PasswordChanges } from "@reins/core/identity/PasswordChanges"
import {
  goodPassword,
  identity,
  newAccount,
  newClient,
  newEmail,
  nextMail,
  tokenIn
} from "@reins/testing/identity/Identity"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, TestClock } from "effect"
import { failAs, loginAs } from "./Logins.js"

for (const { name, layer } of flowDatabases) {
  withLayer(identity(layer))(`Guesses of passwords on ${name}`, (it) => {
    it.effect(
      "10 failures of a client on an address stop it there until the first is 15 minutes old, and nobody else",
      () =>
        Effect.gen(function* () {
          const account = yield* newAccount
          const client = newClient()
          for (let time = 0; time < 10; time++) {
            assert.strictEqual((yield* failAs(account.email, client)).code, "invalid_credentials")
            yield* TestClock.adjust("1 minute")
          }
          const refused = yield* Effect.flip(loginAs(account, client))
          assert.strictEqual(refused.code, "rate_limited")
          assert.strictEqual(refused.status, 429)
          assert.strictEqual(refused.retryAfterSeconds, 5 * 60)
          yield* loginAs(account)
          yield* loginAs(yield* newAccount, client)
          yield* TestClock.adjust("299 seconds")
          assert.strictEqual((yield* Effect.flip(loginAs(account, client))).retryAfterSeconds, 1)
          yield* TestClock.adjust("1 second")
          yield* loginAs(account, client)
        })
    )

    it.effect("a client is an IPv4 address, or the half of an IPv6 address that its machine cannot choose", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        for (let time = 0; time < 10; time++)
          yield* failAs(account.email, { clientAddress: `2001:db8:1:2:${time}::${time}` })
        for (const [clientAddress, code] of [
          ["2001:db8:1:2:ffff::1", "rate_limited"],
          ["2001:db8:1:3::1", "invalid_credentials"]
        ] as const)
          assert.strictEqual((yield* failAs(account.email, { clientAddress })).code, code)
        for (let time = 0; time < 10; time++) yield* failAs(account.email, { clientAddress: "::ffff:203.0.113.5" })
        assert.strictEqual((yield* failAs(account.email, { clientAddress: "203.0.113.5" })).code, "rate_limited")
      })
    )

    it.effect("many strangers make 40 guesses within an hour, and keep out nobody who was there before", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const home = newClient()
        yield* loginAs(account, home)
        let answered = 0
        for (let minute = 0; minute < 60; minute++) {
          const errors = yield* Effect.all(
            Array.from({ length: 5 }, () => failAs(account.email)),
            { concurrency: "unbounded" }
          )
          answered += errors.filter(({ code }) => code === "invalid_credentials").length
          if (minute % 10 === 9) {
            assert.strictEqual((yield* failAs(account.email, home)).code, "invalid_credentials")
            yield* loginAs(account, home)
          }
          yield* TestClock.adjust("59 seconds")
        }
        assert.isAtMost(answered, 40)
        assert.isAtLeast(answered, 35)
        const refused = yield* Effect.flip(loginAs(account))
        assert.strictEqual(refused.code, "rate_limited")
        assert.include(refused.message, "by a link that is mailed to you")
        yield* TestClock.adjust("1 hour")
        yield* loginAs(account)
      })
    )

    it.effect("a client that may log in while strangers guess is bound to 10 failures all the same", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const home = newClient()
        yield* loginAs(account, home)
        const errors = yield* Effect.forEach(Array.from({ length: 12 }), () => failAs(account.email, home))
        assert.strictEqual(errors.filter(({ code }) => code === "invalid_credentials").length, 10)
        // The failures of a known client take nothing from strangers, such as the owner at a new place.
        yield* loginAs(account)
      })
    )

    it.effect("a client is known for 90 days after its last login, and until the password is replaced elsewhere", () =>
      Effect.gen(function* () {
        const changes = yield* PasswordChanges
        const account = yield* newAccount
        const [home, elsewhere] = [newClient(), newClient()]
        const besiege = Effect.forEach(Array.from({ length: 40 }), () => failAs(account.email), { discard: true })
        yield* loginAs(account, home)
        yield* TestClock.adjust("89 days")
        yield* besiege
        yield* loginAs(account, home)
        yield* TestClock.adjust("91 days")
        yield* besiege
        assert.strictEqual((yield* Effect.flip(loginAs(account, home))).code, "rate_limited")
        yield* changes.reset({ email: account.email }, elsewhere)
        const token = tokenIn(yield* nextMail(account.email))
        yield* changes.reset({ token, new_password: goodPassword }, elsewhere)
        yield* besiege
        yield* loginAs(account, elsewhere)
        assert.strictEqual((yield* Effect.flip(loginAs(account, home))).code, "rate_limited")
      })
    )

    it.effect("failures of an address that does not exist count like those of one that does", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const unknown = newEmail()
        const answers = (email: string) => {
          const client = newClient()
          const tries = [...Array.from({ length: 12 }, () => client), ...Array.from({ length: 35 }, newClient)]
          return Effect.map(
            Effect.forEach(tries, (from) => failAs(email, from)),
            (errors) => errors.map((error) => [error.code, error.message, error.retryAfterSeconds])
          )
        }
        const known = yield* answers(account.email)
        assert.strictEqual(known.filter(([code]) => code === "rate_limited").length, 2 + 5)
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
        const client = newClient()
        for (const { from, most } of [
          { from: () => client, most: 10 },
          { from: newClient, most: 40 }
        ]) {
          const errors = yield* Effect.all(
            Array.from({ length: 60 }, () => failAs(account.email, from())),
            { concurrency: "unbounded" }
          )
          const answered = errors.filter((error) => error.code === "invalid_credentials").length
          assert.isAtMost(answered, most)
          assert.strictEqual(errors.filter((error) => error.code === "rate_limited").length, 60 - answered)
        }
      })
    )

    it.effect("a login that succeeds forgets the failures of its client, and not those of strangers", () =>
      Effect.gen(function* () {
        const account = yield* newAccount
        const client = newClient()
        for (let time = 0; time < 9; time++) yield* failAs(account.email, client)
        yield* loginAs(account, client)
        for (let time = 0; time < 31; time++) yield* failAs(account.email)
        yield* loginAs(account, client)
        assert.strictEqual((yield* failAs(account.email)).code, "rate_limited")
        for (let time = 0; time < 9; time++)
          assert.strictEqual((yield* failAs(account.email, client)).code, "invalid_credentials")
        yield* loginAs(account, client)
      })
    )
  })
}
