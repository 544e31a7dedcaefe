import { assert, describe, layer } from "@effect/vitest"
import { Accounts } from "@reins/core/identity/Accounts"
import * as OneTimeTokens from "@reins/core/identity/OneTimeTokens"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { Effect, Redacted } from "effect"
import { flowServices } from "../Databases.js"
import { codeOf, newCaller, newKey, password, type Reply, send } from "../Service.js"
import { problemOf } from "./Answers.js"
import { operations } from "./Document.js"

const newPassword = "a loud heron at dawn"

/** Somebody who has registered and not followed the link in the mail. */
const unverified = Effect.gen(function* () {
  const { first, sql } = yield* Database
  const email = `${newKey()}@example.com`
  yield* (yield* Accounts).register({ email, password }, { clientAddress: "198.51.100.9" })
  const account = yield* first(sql<{ id: string }>`select id from accounts where email = ${email}`)
  return account?.id ?? assert.fail("nobody has registered")
})

const tokenFor = (purpose: OneTimeTokens.Purpose, accountId: string) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    return Redacted.value(yield* journal.commit(OneTimeTokens.issue(yield* Database, purpose, accountId)))
  })

/** The halves of two operations that a token from a mail leads to. */
const halves = [
  {
    name: "POST /api/auth/email-verifications",
    example: Effect.gen(function* () {
      return { token: yield* tokenFor("verify_email", yield* unverified) }
    })
  },
  {
    name: "POST /api/auth/password-resets",
    example: Effect.gen(function* () {
      const { account } = yield* newCaller()
      return { token: yield* tokenFor("reset_password", account.id), new_password: newPassword }
    })
  }
] as const

const sent = (name: string, body: unknown, key: string) =>
  send("POST", name.slice("POST ".length), { headers: { "idempotency-key": key }, body })

const expectDeclared = (name: string, { headers, status, text }: Reply) => {
  const operation = operations.find((candidate) => candidate.name === name) ?? assert.fail(name)
  assert.isUndefined(problemOf(operation, { status, contentType: headers.get("content-type") ?? undefined, text }))
}

for (const { database, layer: service } of flowServices()) {
  describe(`on ${database}`, () => {
    layer(service, { excludeTestServices: true })("a token from a mail", (it) => {
      for (const { example, name } of halves) {
        it.effect(`is used once for its key: ${name}`, () =>
          Effect.gen(function* () {
            const body = yield* example
            const key = newKey()
            const first = yield* sent(name, body, key)
            assert.strictEqual(first.status, 200, first.text)
            expectDeclared(name, first)
            assert.isNull(first.headers.get("idempotency-replayed"))

            const again = yield* sent(name, body, key)
            assert.deepStrictEqual([again.status, again.text], [first.status, first.text])
            assert.strictEqual(again.headers.get("idempotency-replayed"), "true")

            const conflict = yield* sent(name, { ...body, x_other: 1 }, key)
            assert.deepStrictEqual([conflict.status, codeOf(conflict)], [409, "idempotency_conflict"])

            const anew = yield* sent(name, body, newKey())
            assert.deepStrictEqual([anew.status, codeOf(anew)], [410, "token_expired"])
            expectDeclared(name, anew)
          })
        )

        it.effect(`that is used twenty times at once takes effect once: ${name}`, () =>
          Effect.gen(function* () {
            const body = yield* example
            const replies = yield* Effect.all(
              Array.from({ length: 20 }, () => Effect.suspend(() => sent(name, body, newKey()))),
              { concurrency: "unbounded" }
            )
            const statuses = replies.map(({ status }) => status).sort()
            assert.strictEqual(statuses[0], 200)
            for (const reply of replies) expectDeclared(name, reply)
            assert.isTrue(
              replies.every((reply) => reply.status === 200 || codeOf(reply) === "token_expired"),
              JSON.stringify(statuses)
            )
            assert.lengthOf(
              statuses.filter((status) => status === 200),
              1
            )
          })
        )
      }
    })
  })
}
