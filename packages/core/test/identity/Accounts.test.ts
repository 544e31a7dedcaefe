import { assert, layer as withLayer } from "@effect/vitest"
import { AccountId, newId } from "@reins/base/domain/Ids"
import { Accounts } from "@reins/core/identity/Accounts"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { MailRefused } from "@reins/core/identity/Mailer"
import { Database } from "@reins/core/store/Database"
import { Idempotency } from "@reins/core/store/Idempotency"
import {
  countRows,
  everythingStored,
  goodPassword,
  identity,
  Mailbox,
  newAccount,
  newClient,
  newEmail,
  nextMail,
  passTimeUntil,
  publicUrl,
  tokenIn
} from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Effect, Either, Redacted, TestClock } from "effect"
import { principalOf } from "./Principals.js"

for (const { name, layer } of databases) {
  withLayer(identity(layer))(`Accounts on ${name}`, (it) => {
    restOn(name)(() => {
      it.effect(
        "a client registers 30 times within an hour, and the rest is refused before anything is hashed or mailed",
        () =>
          Effect.gen(function* () {
            const accounts = yield* Accounts
            const db = yield* Database
            const client = newClient()
            const emails = Array.from({ length: 150 }, newEmail)
            const results = yield* Effect.all(
              emails.map((email) => Effect.either(accounts.register({ email, password: goodPassword }, client))),
              { concurrency: "unbounded" }
            )
            const codes = results.map((result) =>
              Either.isRight(result)
                ? "accepted"
                : result.left._tag === "ReinsError"
                  ? result.left.code
                  : result.left._tag
            )
            const count = (code: string) => codes.filter((each) => each === code).length
            assert.strictEqual(count("rate_limited"), 120)
            assert.strictEqual(count("accepted") + count("waiting_capacity"), 30)
            assert.isAtLeast(count("accepted"), 17)
            const made = yield* db.all(db.sql`select id from accounts where ${db.sql.in("email", emails)}`)
            assert.strictEqual(made.length, count("accepted"))
            const refused = results.find((_, at) => codes[at] === "rate_limited")
            if (refused === undefined || Either.isRight(refused)) return assert.fail("not refused")
            assert.deepInclude(refused.left, { retryAfterSeconds: 3600 })
            yield* accounts.register({ email: newEmail(), password: goodPassword }, newClient())
            yield* TestClock.adjust("1 hour")
            yield* accounts.register({ email: newEmail(), password: goodPassword }, client)
          })
      )
    })

    it.effect("a registration that is refused for its words is not counted", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const client = newClient()
        const weak = accounts.register({ email: newEmail(), password: "password" }, client)
        for (let time = 0; time < 40; time++) assert.strictEqual((yield* Effect.flip(weak))._tag, "RequestInvalid")
        yield* accounts.register({ email: newEmail(), password: goodPassword }, client)
      })
    )

    it.effect("a registered account is unverified until the mailed token makes it active with its own workspace", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const email = newEmail()
        const answer = yield* accounts.register({ email, password: goodPassword, display_name: "Ada" }, newClient())
        assert.deepStrictEqual(answer, { status: "accepted" })
        const before = yield* accounts.get(email)
        assert.strictEqual(before.state, "unverified")
        assert.strictEqual(yield* countRows("workspace_members", "account_id", before.id), 0)

        const mail = yield* nextMail(email)
        assert.strictEqual(mail.to, email)
        assert.include(mail.text, "Hello Ada,")
        assert.include(mail.text, `${publicUrl}/verify?${tokenIn(mail)}`)
        assert.include(mail.text, `curl -X POST ${publicUrl}/api/auth/email-verifications`)

        assert.deepStrictEqual(yield* accounts.verifyEmail({ token: tokenIn(mail) }), { status: "verified" })
        const account = yield* accounts.get(email)
        assert.strictEqual(account.state, "active")
        const me = yield* accounts.me(principalOf(account))
        assert.deepStrictEqual(
          me.workspaces.map(({ name, role }) => ({ name, role })),
          [{ name: "Personal", role: "owner" }]
        )
        assert.deepStrictEqual(me.account, account)
        assert.deepStrictEqual(me.auth, { via: "embedded", scopes: ["admin"] })
        assert.isUndefined(me.csrf_token)
      })
    )

    it.effect("a token works once, and the other tokens of the account with it", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const email = newEmail()
        yield* accounts.register({ email, password: goodPassword }, newClient())
        const first = tokenIn(yield* nextMail(email))
        yield* accounts.verifyEmail({ email })
        const second = tokenIn(yield* nextMail(email))
        assert.notStrictEqual(first, second)
        yield* accounts.verifyEmail({ token: first })
        for (const token of [first, second]) {
          const error = yield* Effect.flip(accounts.verifyEmail({ token }))
          assert.strictEqual(error.code, "token_expired")
          assert.strictEqual(error.status, 410)
        }
        assert.strictEqual(yield* countRows("workspace_members", "account_id", (yield* accounts.get(email)).id), 1)
      })
    )

    it.effect("of many who use one token at the same time, one succeeds", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const email = newEmail()
        yield* accounts.register({ email, password: goodPassword }, newClient())
        const token = tokenIn(yield* nextMail(email))
        const results = yield* Effect.all(
          Array.from({ length: 8 }, () => Effect.either(accounts.verifyEmail({ token }))),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter((result) => result._tag === "Right").length, 1)
        assert.strictEqual(yield* countRows("workspace_members", "account_id", (yield* accounts.get(email)).id), 1)
      })
    )

    it.effect("a token is good for 24 hours; unknown and expired tokens get the same answer", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const email = newEmail()
        yield* accounts.register({ email, password: goodPassword }, newClient())
        const token = tokenIn(yield* nextMail(email))
        yield* TestClock.adjust("24 hours")
        const expired = yield* Effect.flip(accounts.verifyEmail({ token }))
        const unknown = yield* Effect.flip(accounts.verifyEmail({ token: "x".repeat(43) }))
        assert.strictEqual(expired.code, "token_expired")
        assert.strictEqual(expired.message, unknown.message)

        yield* accounts.verifyEmail({ email })
        const next = tokenIn(yield* nextMail(email))
        yield* TestClock.adjust("23 hours")
        assert.deepStrictEqual(yield* accounts.verifyEmail({ token: next }), { status: "verified" })
      })
    )

    it.effect("registering a taken address answers the same, changes nothing and tells its owner", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const logins = yield* LoginSessions
        const account = yield* newAccount
        const answer = yield* accounts.register(
          {
            email: account.email.toUpperCase(),
            password: "another good password",
            display_name: "Mallory"
          },
          newClient()
        )
        const fresh = yield* accounts.register({ email: newEmail(), password: "another good password" }, newClient())
        assert.strictEqual(JSON.stringify(answer), JSON.stringify(fresh))
        const mail = yield* nextMail(account.email)
        assert.strictEqual(mail.subject, "You already have an account")
        assert.notMatch(mail.text, /[\w-]{43}/)
        assert.notInclude(mail.text, "Mallory")
        assert.deepStrictEqual(yield* accounts.get(account.id), account)
        yield* logins.login({ email: account.email, password: goodPassword }, { clientAddress: "127.0.0.1" })
      })
    )

    it.effect("registering an unverified address again replaces its password, and links of before stop working", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const logins = yield* LoginSessions
        const email = newEmail()
        yield* accounts.register({ email, password: "the password of a stranger" }, newClient())
        const stranger = tokenIn(yield* nextMail(email))
        yield* accounts.register({ email, password: goodPassword, display_name: "Owner" }, newClient())
        const owner = tokenIn(yield* nextMail(email))
        const error = yield* Effect.flip(accounts.verifyEmail({ token: stranger }))
        assert.strictEqual(error.code, "token_expired")
        yield* accounts.verifyEmail({ token: owner })
        assert.strictEqual((yield* accounts.get(email)).display_name, "Owner")
        yield* logins.login({ email, password: goodPassword }, { clientAddress: "127.0.0.1" })
        const refused = yield* Effect.flip(
          logins.login({ email, password: "the password of a stranger" }, { clientAddress: "127.0.0.1" })
        )
        assert.strictEqual(refused.code, "invalid_credentials")
      })
    )

    it.effect("one account comes of many registrations of one address at the same time", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const email = newEmail()
        const answers = yield* Effect.all(
          Array.from({ length: 6 }, () => accounts.register({ email, password: goodPassword }, newClient())),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1)
        assert.strictEqual(yield* countRows("accounts", "email", email), 1)
      })
    )

    it.effect("asking for a link is answered the same for unknown, unverified and verified addresses", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const unverified = newEmail()
        yield* accounts.register({ email: unverified, password: goodPassword }, newClient())
        yield* nextMail(unverified)
        const verified = (yield* newAccount).email
        const unknown = newEmail()
        const answers = yield* Effect.forEach([unknown, unverified, verified], (email) =>
          accounts.verifyEmail({ email })
        )
        assert.deepStrictEqual(
          new Set(answers.map((answer) => JSON.stringify(answer))),
          new Set(['{"status":"accepted"}'])
        )
        yield* nextMail(unverified)
        assert.strictEqual(yield* countRows("jobs", "subject_id", (yield* accounts.get(verified)).id), 0)
      })
    )

    it.effect("at most 3 mails go to an address in an hour, and the answer does not say so", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const email = newEmail()
        yield* accounts.register({ email, password: goodPassword }, newClient())
        for (let time = 0; time < 5; time++) {
          assert.deepStrictEqual(yield* accounts.verifyEmail({ email }), { status: "accepted" })
        }
        const { id } = yield* accounts.get(email)
        assert.strictEqual(yield* countRows("jobs", "subject_id", id), 3)
        yield* TestClock.adjust("1 hour")
        yield* accounts.verifyEmail({ email })
        assert.strictEqual(yield* countRows("jobs", "subject_id", id), 4)
      })
    )

    it.effect("a mail that could not be sent is sent again with a new token", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const mailbox = yield* Mailbox
        const email = newEmail()
        yield* mailbox.refuseNext(email, new MailRefused({ code: "smtp_451", retryable: true }))
        yield* accounts.register({ email, password: goodPassword }, newClient())
        const mail = yield* passTimeUntil(nextMail(email))
        const { id } = yield* accounts.get(email)
        assert.strictEqual(yield* countRows("one_time_tokens", "subject_id", id), 2)
        assert.deepStrictEqual(yield* accounts.verifyEmail({ token: tokenIn(mail) }), { status: "verified" })
      })
    )

    it.effect("passwords that are guessed first or do not fit are refused, whoever asks, and not repeated", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const email = newEmail()
        for (const password of ["Password123!", email, "short", "ü".repeat(600)]) {
          const error = yield* Effect.flip(accounts.register({ email, password }, newClient()))
          assert.strictEqual(error._tag, "RequestInvalid")
          if (error._tag === "RequestInvalid") assert.deepStrictEqual(error.loc, ["body", "password"])
          assert.notInclude(JSON.stringify(error), password)
          const byOperator = yield* Effect.flip(accounts.createVerified({ email, password: Redacted.make(password) }))
          assert.strictEqual(byOperator._tag, "RequestInvalid")
        }
        const error = yield* Effect.flip(
          accounts.register({ email: "no address", password: goodPassword }, newClient())
        )
        assert.strictEqual(error._tag, "RequestInvalid")
        assert.strictEqual((yield* Effect.flip(accounts.get(email))).code, "not_found")
      })
    )

    it.effect("a taken address fails with already_exists when the operator makes an account", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const account = yield* newAccount
        const error = yield* Effect.flip(
          accounts.createVerified({ email: ` ${account.email.toUpperCase()}`, password: Redacted.make(goodPassword) })
        )
        assert.strictEqual(error._tag === "ReinsError" && error.code, "already_exists")
      })
    )

    it.effect("a disabled account stays disabled, and its links no longer verify it", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const email = newEmail()
        yield* accounts.register({ email, password: goodPassword }, newClient())
        const token = tokenIn(yield* nextMail(email))
        const { id } = yield* accounts.get(email)
        assert.strictEqual((yield* accounts.disable(id)).state, "disabled")
        assert.strictEqual((yield* Effect.flip(accounts.verifyEmail({ token }))).code, "token_expired")
        assert.strictEqual((yield* Effect.flip(accounts.disable(id))).code, "invalid_transition")
        const nobody = yield* newId(AccountId)
        assert.strictEqual((yield* Effect.flip(accounts.disable(nobody))).code, "not_found")
      })
    )

    it.effect("the list of accounts goes from the newest to the oldest, in pages", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const made = yield* Effect.forEach([1, 2, 3], () => newAccount)
        const first = yield* accounts.list({ limit: 2 })
        const second = yield* accounts.list({ limit: 1, cursor: first.next_cursor ?? "" })
        assert.deepStrictEqual([...first.items, ...second.items], made.reverse())
      })
    )

    it.effect("a registration that is sent again with its key is answered from its record", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const idempotency = yield* Idempotency
        const email = newEmail()
        const request = {
          scope: "register 127.0.0.1",
          key: email,
          fingerprint: `POST /api/auth/register ${email}`,
          sealed: false,
          command: accounts.register({ email, password: goodPassword }, newClient()),
          encode: (result: unknown) => ({ status: 202, body: JSON.stringify(result) }),
          encodeError: () => ({ status: 500, body: null })
        }
        const first = yield* idempotency.run(request)
        const second = yield* idempotency.run(request)
        assert.deepStrictEqual([first.replayed, second.replayed], [false, true])
        assert.deepStrictEqual(second.answer, first.answer)
        assert.strictEqual(yield* countRows("jobs", "subject_id", (yield* accounts.get(email)).id), 1)
      })
    )

    restOn(name)(() => {
      it.effect("neither passwords nor tokens lie in the database", () =>
        Effect.gen(function* () {
          const accounts = yield* Accounts
          const logins = yield* LoginSessions
          const email = newEmail()
          const password = "canary in a coal mine 77"
          yield* accounts.register({ email, password }, newClient())
          const token = tokenIn(yield* nextMail(email))
          const unused = yield* accounts
            .verifyEmail({ email })
            .pipe(Effect.zipRight(nextMail(email)), Effect.map(tokenIn))
          yield* accounts.verifyEmail({ token })
          yield* Effect.flip(
            logins.login({ email: password, password: `${password}!` }, { clientAddress: "127.0.0.1" })
          )
          const { token: cookie } = yield* logins.login({ email, password }, { clientAddress: "127.0.0.1" })
          const stored = yield* everythingStored
          assert.include(stored, email)
          for (const secret of [password, token, unused, Redacted.value(cookie)]) assert.notInclude(stored, secret)
        })
      )
    })

    it.effect("purging deletes the tokens that have expired, and no others", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const db = yield* Database
        const old = newEmail()
        yield* accounts.register({ email: old, password: goodPassword }, newClient())
        yield* nextMail(old)
        yield* TestClock.adjust("24 hours")
        const young = newEmail()
        yield* accounts.register({ email: young, password: goodPassword }, newClient())
        yield* nextMail(young)
        yield* accounts.purge
        const left = yield* db.all(db.sql<{ subject_id: string }>`select subject_id from one_time_tokens`)
        const { id } = yield* accounts.get(young)
        assert.deepStrictEqual(
          left.map((row) => row.subject_id),
          [id]
        )
      })
    )
  })
}
