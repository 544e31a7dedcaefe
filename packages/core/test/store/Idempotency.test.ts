import { assert, layer as suite } from "@effect/vitest"
import { operator } from "@reins/base/domain/Principal"
import { type ErrorCode, ReinsError } from "@reins/base/domain/ReinsError"
import { retentionMs } from "@reins/core/store/AnswerStore"
import { type Command, isCommand } from "@reins/core/store/Command"
import { Database } from "@reins/core/store/Database"
import { Idempotency, type MutationRequest } from "@reins/core/store/Idempotency"
import { Journal } from "@reins/core/store/Journal"
import { countRows, identity, newEmail } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { sentKeys } from "@reins/testing/Volume"
import { Deferred, Effect, Exit, Fiber, TestClock, TestContext } from "effect"

const authority = { by: operator, about: { type: "test", id: null } } as const

let keys = 0
const newKey = () => `key ${++keys}`

/** Requests that run a command, or do something before they commit nothing but their answer. */
const requests = Effect.map(
  Journal,
  (journal) =>
    <A>(
      act: Effect.Effect<A, ReinsError> | Command<A, ReinsError>,
      changes: Partial<Omit<MutationRequest<A>, "command" | "encode" | "encodeError">> = {}
    ): MutationRequest<A> => ({
      scope: "acct_1",
      key: newKey(),
      fingerprint: "POST /api/things {}",
      sealed: false,
      ...changes,
      command: isCommand(act) ? act : journal.prepared("test", authority, Effect.map(act, Effect.succeed)),
      encode: (result) => ({ status: 201, body: JSON.stringify(result) }),
      encodeError: (error) => ({ status: error.status, body: JSON.stringify({ error: { code: error.code } }) })
    })
)

/** A mutation that can be counted: it writes a row into a table that nothing else here uses. */
const insertHit = (subject: string) =>
  Effect.gen(function* () {
    const db = yield* Database
    const journal = yield* Journal
    const insert = Effect.suspend(() => {
      const id = `${subject} ${Math.random()}`
      return Effect.as(
        db.run(db.sql`insert into throttle_hits ${db.sql.insert({ id, subject, hit_at: "2026-01-01T00:00:00.000Z" })}`),
        { id }
      )
    })
    return journal.command("test", authority, insert)
  })

for (const { name, layer } of databases) {
  suite(identity(layer), { excludeTestServices: true })(`Idempotency on ${name}`, (it) => {
    it.effect("the same request with the same key runs once and is answered the same, byte for byte", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const subject = newEmail()
        const request = requestOf(yield* insertHit(subject))
        const first = yield* idempotency.run(request)
        const second = yield* idempotency.run(request)
        assert.isFalse(first.replayed)
        assert.match(first.answer.body ?? "", /^\{"id":/)
        assert.deepStrictEqual(second, { answer: first.answer, replayed: true })
        assert.strictEqual(yield* countRows("throttle_hits", "subject", subject), 1)
      })
    )

    it.effect("an answer without a body is replayed without one, also where bodies are sealed", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        for (const sealed of [false, true]) {
          const request = { ...requestOf(Effect.void, { sealed }), encode: () => ({ status: 204, body: null }) }
          yield* idempotency.run(request)
          assert.deepStrictEqual((yield* idempotency.run(request)).answer, { status: 204, body: null })
        }
      })
    )

    it.effect("the same key for another request is a conflict, and leaves the first answer in place", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const request = requestOf(Effect.succeed("first"))
        yield* idempotency.run(request)
        const other = requestOf(Effect.dieMessage("must not run"), { key: request.key, fingerprint: "POST /other" })
        const error = yield* Effect.flip(idempotency.run(other))
        assert.strictEqual(error.code, "idempotency_conflict")
        assert.strictEqual((yield* idempotency.run(request)).answer.body, '"first"')
      })
    )

    it.effect("equal keys of different scopes do not meet", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const request = requestOf(Effect.succeed("mine"))
        yield* idempotency.run(request)
        const theirs = yield* idempotency.run(
          requestOf(Effect.succeed("theirs"), { scope: "acct_2", key: request.key })
        )
        assert.deepStrictEqual([theirs.replayed, theirs.answer.body], [false, '"theirs"'])
      })
    )

    it.effect("the credentials of an account share its answers, as far as each may see them", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const ask = (
          reach: { readonly workspace?: string; readonly only?: string },
          key: string,
          fingerprint = "same"
        ) =>
          idempotency.run(requestOf(Effect.succeed(Math.random()), { ...reach, key, fingerprint })).pipe(
            Effect.map(({ replayed }) => (replayed ? "replayed" : "done")),
            Effect.catchTag("ReinsError", ({ code }) => Effect.succeed(code))
          )
        const everywhere = {}
        const [one, two] = ["ws_1", "ws_2"].map((workspace) => ({ workspace, only: workspace }))
        const named = { workspace: "ws_1" }
        // What a second request meets after a first one: the same request, and another with the same key.
        const table = [
          [everywhere, everywhere, "replayed", "idempotency_conflict"],
          [everywhere, one, "idempotency_conflict", "idempotency_conflict"],
          [one, everywhere, "replayed", "idempotency_conflict"],
          [one, one, "replayed", "idempotency_conflict"],
          [one, two, "idempotency_conflict", "done"],
          [named, one, "replayed", "idempotency_conflict"],
          [one, named, "replayed", "idempotency_conflict"],
          [named, two, "idempotency_conflict", "done"],
          [two, named, "replayed", "done"]
        ] as const
        for (const [first = everywhere, second = everywhere, same, other] of table) {
          const key = newKey()
          const seen = [yield* ask(first, key), yield* ask(second, key), yield* ask(second, key, "other")]
          assert.deepStrictEqual(seen, ["done", same, other], JSON.stringify([first, second]))
          if (other === "done") assert.strictEqual(yield* ask(second, key, "other"), "replayed")
          assert.strictEqual(yield* ask(first, key), "replayed")
        }
      })
    )

    it.effect("an answer that was stored when each API key had a scope of its own is given again", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const old = requestOf(Effect.succeed("old"), { scope: "key_1" })
        yield* idempotency.run(old)
        const now = { key: old.key, scope: "acct_1", before: "key_1" }
        const again = requestOf(Effect.dieMessage("must not run"), now)
        const answered = yield* idempotency.run(again)
        assert.deepStrictEqual([answered.replayed, answered.answer.body], [true, '"old"'])
        const other = requestOf(Effect.dieMessage("must not run"), { ...now, fingerprint: "POST /other" })
        assert.strictEqual((yield* Effect.flip(idempotency.run(other))).code, "idempotency_conflict")
      })
    )

    it.effect("while the first request runs, the second is told to wait, and then gets the answer", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const started = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const handler = Deferred.succeed(started, undefined).pipe(
          Effect.zipRight(Deferred.await(go)),
          Effect.as("done")
        )
        const request = requestOf(handler)
        const first = yield* Effect.fork(idempotency.run(request))
        yield* Deferred.await(started)
        const error = yield* Effect.flip(idempotency.run(request))
        assert.strictEqual(error.code, "idempotency_in_progress")
        assert.strictEqual(error.retryAfterSeconds, 1)
        yield* Deferred.succeed(go, undefined)
        const { answer } = yield* Fiber.join(first)
        assert.deepStrictEqual((yield* idempotency.run(request)).answer, answer)
      })
    )

    it.effect("a request that died or was interrupted can be sent again and runs again", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const key = newKey()
        assert.isTrue(Exit.isFailure(yield* Effect.exit(idempotency.run(requestOf(Effect.dieMessage("bug"), { key })))))
        const started = yield* Deferred.make<void>()
        const stuck = Effect.zipRight(Deferred.succeed(started, undefined), Effect.never)
        const fiber = yield* Effect.fork(idempotency.run(requestOf(stuck, { key })))
        yield* Deferred.await(started)
        yield* Fiber.interrupt(fiber)
        const last = yield* idempotency.run(requestOf(Effect.succeed("done"), { key }))
        assert.deepStrictEqual([last.replayed, last.answer.body], [false, '"done"'])
      })
    )

    it.effect("errors of the state are replayed; those that may be gone the next time are not stored", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const failing = (code: ErrorCode, key: string) =>
          requestOf(Effect.fail(new ReinsError({ code, message: code })), { key })
        for (const code of ["not_found", "turn_active", "already_exists", "token_expired"] as const) {
          const key = newKey()
          const first = yield* idempotency.run(failing(code, key))
          const second = yield* idempotency.run(requestOf(Effect.dieMessage("must not run"), { key }))
          assert.deepStrictEqual(second.answer, first.answer)
          assert.include(second.answer.body, code)
          assert.isTrue(second.replayed)
        }
        for (const code of [
          "unauthenticated",
          "forbidden",
          "rate_limited",
          "version_conflict",
          "executor_unavailable",
          "internal_error",
          "waiting_capacity"
        ] as const) {
          const key = newKey()
          assert.strictEqual((yield* Effect.flip(idempotency.run(failing(code, key)))).code, code)
          assert.isFalse((yield* idempotency.run(requestOf(Effect.succeed("ok"), { key }))).replayed, code)
        }
      })
    )

    it.effect("an answer can be replayed for 72 hours; then its key is as good as new", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const key = newKey()
        const run = (text: string) => idempotency.run(requestOf(Effect.succeed(text), { key }))
        yield* run("first")
        yield* TestClock.adjust(retentionMs - 1)
        assert.strictEqual((yield* run("second")).answer.body, '"first"')
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* run("second")).answer.body, '"second"')
        assert.strictEqual((yield* run("third")).answer.body, '"second"')
        assert.strictEqual(yield* countRows("idempotency", "key", key), 1)
      }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.effect("purging deletes expired records and no others", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const [old, young] = [requestOf(Effect.void), requestOf(Effect.void)]
        yield* idempotency.run(old)
        yield* TestClock.adjust(retentionMs / 2)
        yield* idempotency.run(young)
        yield* TestClock.adjust(retentionMs / 2)
        yield* idempotency.purge
        assert.strictEqual(yield* countRows("idempotency", "key", old.key), 0)
        assert.strictEqual(yield* countRows("idempotency", "key", young.key), 1)
      }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.effect("neither sealed bodies nor fingerprints can be read in the table", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const db = yield* Database
        const fingerprint = `POST /api/auth/login {"password":"canary-password"}`
        const request = requestOf(Effect.succeed({ secret: "canary-secret" }), { sealed: true, fingerprint })
        const first = yield* idempotency.run(request)
        assert.include(first.answer.body, "canary-secret")
        assert.deepStrictEqual((yield* idempotency.run(request)).answer, first.answer)
        const stored = JSON.stringify(yield* db.all(db.sql`select * from idempotency`))
        for (const text of ["canary-secret", "canary-password"]) {
          assert.notInclude(stored, text)
          assert.notInclude(stored, Buffer.from(text).toString("base64").slice(0, 12))
        }
      })
    )

    it.effect("a sealed body that was moved to another record is not answered with", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const requestOf = yield* requests
        const db = yield* Database
        const [mine, theirs] = ["mine", "theirs"].map((text) => requestOf(Effect.succeed(text), { sealed: true }))
        if (mine === undefined || theirs === undefined) return assert.fail("no requests")
        yield* idempotency.run(mine)
        yield* idempotency.run(theirs)
        yield* db.run(db.sql`update idempotency set body = (select body from idempotency where key = ${theirs.key})
          where key = ${mine.key}`)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(idempotency.run(mine))))
      })
    )

    it.effect(
      `of ${sentKeys} keys, each sent 25 times at the same time, exactly ${sentKeys} requests take effect`,
      () =>
        Effect.gen(function* () {
          const idempotency = yield* Idempotency
          const requestOf = yield* requests
          const subject = newEmail()
          const command = yield* insertHit(subject)
          const outcomes = yield* Effect.forEach(
            Array.from({ length: sentKeys }, newKey),
            (key) =>
              Effect.all(
                Array.from({ length: 25 }, () => Effect.either(idempotency.run(requestOf(command, { key })))),
                { concurrency: "unbounded" }
              ),
            { concurrency: 20 }
          )
          assert.strictEqual(yield* countRows("throttle_hits", "subject", subject), sentKeys)
          for (const answers of outcomes) {
            const bodies = new Set<string | null>()
            let fresh = 0
            for (const outcome of answers) {
              if (outcome._tag === "Left") assert.strictEqual(outcome.left.code, "idempotency_in_progress")
              else {
                bodies.add(outcome.right.answer.body)
                fresh += outcome.right.replayed ? 0 : 1
              }
            }
            assert.deepStrictEqual([bodies.size, fresh], [1, 1])
          }
        })
    )

    it.effect("two processes that answer one request at the same time agree on one answer", () =>
      Effect.gen(function* () {
        // Each has its own memory of what runs; only the database tells them of each other.
        const one = yield* Idempotency
        const requestOf = yield* requests
        const other = yield* Effect.provide(Idempotency, Idempotency.layer)
        const subject = newEmail()
        const command = yield* insertHit(subject)
        for (let round = 0; round < 20; round++) {
          const request = requestOf(command)
          const [a, b] = yield* Effect.all([one.run(request), other.run(request)], { concurrency: "unbounded" })
          assert.deepStrictEqual(a.answer, b.answer)
          assert.strictEqual([a, b].filter((outcome) => outcome.replayed).length, 1)
        }
        assert.strictEqual(yield* countRows("throttle_hits", "subject", subject), 20)
      })
    )
  })
}
