import { hostname } from "node:os"
import { assert, layer as withLayer } from "@effect/vitest"
import type { JobId } from "@reins/base/domain/Ids"
import { toMillis } from "@reins/base/domain/Timestamp"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import type { JobKind, RunningAttempt } from "@reins/core/jobs/JobKind"
import { Bell, jobsTopic } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { identity } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Deferred, Effect, Exit, Layer, TestClock } from "effect"
import { counted, elsewhere, errors, failingUntil, given, newKind, succeeded, working } from "./Workers.js"

const self = `${hostname()}/${process.pid}`

/** Ends the claim of a job now, as a stop of its worker beyond it does. */
const expire = (id: JobId) =>
  Effect.flatMap(Database, (db) =>
    db.run(db.sql`update jobs set lease_expires_at = '1960-01-01T00:00:00.000Z' where id = ${id}`)
  )

const look = Effect.flatMap(Bell, (bell) => bell.ring(jobsTopic))

/** Work that begins, stays deaf to everything until it is let go on, and then writes what comes too late. */
const deafWork = Effect.gen(function* () {
  const begun = yield* Deferred.make<void>()
  const goOn = yield* Deferred.make<void>()
  const late = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
  const written: Array<number> = []
  const write = (attempt: RunningAttempt) => attempt.commit(Effect.sync(() => written.push(attempt.claim.attempt)))
  const first = (attempt: RunningAttempt) =>
    Deferred.succeed(begun, undefined).pipe(
      Effect.zipRight(Deferred.await(goOn)),
      Effect.zipRight(Effect.exit(write(attempt))),
      Effect.tap((exit) => Deferred.succeed(late, exit)),
      Effect.flatten,
      Effect.as(succeeded),
      Effect.uninterruptible
    )
  const run: JobKind["run"] = (attempt) =>
    attempt.claim.attempt === 1 ? first(attempt) : Effect.as(write(attempt), succeeded)
  return {
    run,
    begun: Deferred.await(begun),
    goOn: Deferred.succeed(goOn, undefined),
    late: Deferred.await(late),
    written
  }
})

const silence = (worker: string, finder: string) =>
  `Its worker ${worker} did not renew its claim for 30 seconds; ${finder} took over, and nothing that the attempt still does counts. ` +
  "Attempt 2 of 4 is due at once."

for (const { layer, name } of databases) {
  const { database, traffic } = counted(layer)
  withLayer(identity(database))(`the worker on ${name}`, (it) => {
    it.effect("renews the claim of what takes long, so that nobody takes it over", () =>
      Effect.gen(function* () {
        const { enqueue, get, pass } = yield* given(traffic)
        // These seconds pass on the test's clock, because the length of the work is what is tested.
        const kind = newKind({ run: () => Effect.as(Effect.sleep("95 seconds"), succeeded) })
        const id = yield* enqueue(kind)
        const job = yield* pass(id, ({ state }) => state === "succeeded").pipe(Effect.provide(working(kind)))
        assert.deepStrictEqual(errors(job), [["succeeded", null]])
        const [attempt] = (yield* get(id)).attempts
        const renewed = toMillis(attempt?.heartbeat_at ?? job.created_at) - toMillis(job.created_at)
        assert.isAtLeast(renewed, 85_000)
      })
    )

    it.effect("starts what is submitted while it idles without any time passing, and commits three times for it", () =>
      Effect.gen(function* () {
        const { enqueue, until } = yield* given(traffic)
        const kinds = Array.from({ length: 12 }, () => newKind())
        const [kind = newKind()] = kinds
        yield* Effect.gen(function* () {
          for (const _ of [1, 2, 3]) {
            const before = traffic.transactions
            const id = yield* enqueue(kind)
            yield* until(id, ({ state }) => state === "succeeded")
            // It is submitted, claimed and ended.
            assert.strictEqual(traffic.transactions - before, 3)
          }
        }).pipe(Effect.provide(working(kinds)))
      })
    )

    it.effect("ends an attempt that passes the deadline of its kind, and says so", () =>
      Effect.gen(function* () {
        const { enqueue, pass } = yield* given(traffic)
        const failures: Array<string> = []
        const kind = newKind({
          deadlineMs: 45_000,
          run: () => Effect.never,
          failed: (_, { code }) => Effect.sync(() => void failures.push(code))
        })
        const id = yield* enqueue(kind)
        const job = yield* pass(id, ({ state }) => state === "failed").pipe(Effect.provide(working(kind)))
        assert.deepStrictEqual(errors(job), [
          ["failed", `It was ended after 45 seconds, the longest that an attempt of ${kind.kind} may take.`]
        ])
        assert.deepStrictEqual([job.error?.code, failures], ["timeout", ["timeout"]])
      })
    )

    it.effect(
      "waits 2 seconds after the first failure and 4 after the second, a tenth more or less, and says when it goes on",
      () =>
        Effect.gen(function* () {
          const { enqueue, get, until } = yield* given(traffic)
          const kind = newKind({ run: failingUntil(3) })
          const id = yield* enqueue(kind)
          yield* Effect.gen(function* () {
            for (const [attempt, seconds] of [
              [1, 2],
              [2, 4]
            ] as const) {
              const job = yield* until(
                id,
                ({ attempt_count, state }) => attempt_count === attempt && state === "retry_wait"
              )
              const failed = job.attempts[attempt - 1]
              const waiting = toMillis(job.run_at ?? job.created_at) - toMillis(failed?.finished_at ?? job.created_at)
              assert.isAtLeast(waiting, seconds * 900)
              assert.isAtMost(waiting, seconds * 1100)
              assert.deepStrictEqual(
                [failed?.error?.code, failed?.error?.message],
                ["remote_unavailable", `Nobody answers. Attempt ${attempt + 1} of 3 is due at ${job.run_at}.`]
              )
              yield* TestClock.adjust(waiting - 1)
              assert.strictEqual((yield* get(id)).attempts.length, attempt)
              yield* TestClock.adjust(1)
            }
            assert.strictEqual((yield* until(id, ({ state }) => state === "succeeded")).attempt_count, 3)
          }).pipe(Effect.provide(working(kind)))
        })
    )

    it.effect(
      "work whose process has ended goes on at once, after what that process left is ended, and says who took over",
      () =>
        Effect.gen(function* () {
          const { enqueue, get, until } = yield* given(traffic)
          const order: Array<string> = []
          const kind = newKind({
            run: () =>
              Effect.as(
                Effect.sync(() => order.push("attempt 2")),
                succeeded
              )
          })
          const id = yield* enqueue(kind)
          yield* (yield* JobClaims).claim(kind.kind, 1, { workerId: "node-a/7", bootId: "boot_dead" })
          const clear = (bootIds: ReadonlyArray<string>) => Effect.sync(() => void order.push(`cleared ${bootIds}`))
          yield* until(id, ({ state }) => state === "succeeded").pipe(
            Effect.provide(Layer.provide(working(kind, clear), elsewhere("node-b", ["boot_dead", "boot_before"])))
          )
          assert.deepStrictEqual(errors(yield* get(id)), [
            [
              "abandoned",
              `Its worker node-a/7 ended before it was done; node-b/${process.pid} took over. Attempt 2 of 4 is due at once.`
            ],
            ["succeeded", null]
          ])
          assert.deepStrictEqual([...new Set(order)], ["cleared boot_dead,boot_before", "attempt 2"])
        })
    )

    it.effect(
      "attempts that were lost with their workers use up none of those that may fail, wait from the sixth on, and end with the thirtieth",
      () =>
        Effect.gen(function* () {
          const { enqueue, get, pass, until } = yield* given(traffic)
          const db = yield* Database
          const jobs = yield* JobClaims
          const lost = (kind: JobKind, times: number) =>
            Effect.forEach(
              Array.from({ length: times }, (_, index) => `boot_${kind.kind}_${index}`),
              (bootId) =>
                Effect.gen(function* () {
                  yield* db.run(db.sql`update jobs set run_at = created_at where kind = ${kind.kind}`)
                  const [claim] = yield* jobs.claim(kind.kind, 1, { workerId: "node-a/7", bootId })
                  if (claim === undefined) return yield* Effect.dieMessage("nothing was due")
                  // A server that ends before it works on anything: it only finds what is lost.
                  yield* until(claim.jobId, ({ attempts }) => attempts.at(-1)?.state === "abandoned").pipe(
                    Effect.provide(Layer.provide(working({ ...kind, concurrency: 0 }), elsewhere("node-b", [bootId])))
                  )
                }),
              { discard: true }
            )

          const failing = newKind({ run: failingUntil(99) })
          const id = yield* enqueue(failing)
          yield* lost(failing, 5)
          const failed = yield* Effect.provide(
            pass(id, ({ state }) => state === "failed"),
            working(failing)
          )
          assert.deepStrictEqual(
            failed.attempts.map(({ state }) => state),
            [...Array.from({ length: 5 }, () => "abandoned" as const), "failed", "failed", "failed"]
          )
          assert.strictEqual(failed.max_attempts, 8)

          const deadly = newKind()
          const deadlyId = yield* enqueue(deadly)
          yield* lost(deadly, 30)
          const { attempt_count, attempts, error, state } = yield* get(deadlyId)
          const waits = attempts.map(({ error }) => / is due at once\.$/.test(error?.message ?? ""))
          assert.deepStrictEqual(
            waits,
            Array.from({ length: 30 }, (_, index) => index < 5)
          )
          assert.deepStrictEqual([state, attempt_count, error?.code], ["failed", 30, "worker_lost"])
        })
    )

    it.effect(
      "a worker that was stopped beyond its claim cannot write: another takes over, and both attempts are shown",
      () =>
        Effect.gen(function* () {
          const { enqueue, get, until } = yield* given(traffic)
          const work = yield* deafWork
          const kind = newKind({ run: work.run })
          const id = yield* enqueue(kind)
          yield* Effect.gen(function* () {
            yield* work.begun
            yield* expire(id)
            yield* until(id, ({ state }) => state === "succeeded").pipe(
              Effect.provide(Layer.provide(working(kind), elsewhere("node-b")))
            )
            yield* work.goOn
            const late = yield* work.late
            assert.isTrue(Exit.isFailure(late) && JSON.stringify(late).includes("AttemptLost"))
          }).pipe(Effect.provide(Layer.provide(working(kind), elsewhere("node-a"))))
          assert.deepStrictEqual(work.written, [2])
          assert.deepStrictEqual(errors(yield* get(id)), [
            ["abandoned", silence(`node-a/${process.pid}`, `node-b/${process.pid}`)],
            ["succeeded", null]
          ])
        })
    )

    it.effect(
      "alone on its database it does not write with a claim that has run out either, and attempts the work again",
      () =>
        Effect.gen(function* () {
          const { enqueue, get, until } = yield* given(traffic)
          const work = yield* deafWork
          const kind = newKind({ run: work.run })
          const id = yield* enqueue(kind)
          yield* Effect.gen(function* () {
            yield* work.begun
            yield* expire(id)
            yield* look
            yield* work.goOn
            yield* until(id, ({ state }) => state === "succeeded")
          }).pipe(Effect.provide(working(kind)))
          assert.deepStrictEqual(work.written, [2])
          assert.deepStrictEqual(errors(yield* get(id)), [
            ["abandoned", silence(self, self)],
            ["succeeded", null]
          ])
        })
    )

    it.effect("sees a cancellation at the next renewal when no ring tells it", () =>
      Effect.gen(function* () {
        const { enqueue, pass, until } = yield* given(traffic)
        const db = yield* Database
        const kind = newKind({
          run: ({ cancelRequested }) =>
            Effect.as(cancelRequested, { state: "cancelled" as const, command: Effect.void })
        })
        const id = yield* enqueue(kind)
        const job = yield* Effect.gen(function* () {
          yield* until(id, ({ state }) => state === "running")
          yield* db.run(db.sql`update jobs set cancel_requested = 1 where id = ${id}`)
          return yield* pass(id, ({ state }) => state === "cancelled")
        }).pipe(Effect.provide(working(kind)))
        assert.deepStrictEqual(errors(job), [["failed", "It was cancelled, and its worker stopped."]])
        const [attempt] = job.attempts
        const seen = toMillis(job.finished_at ?? job.created_at) - toMillis(attempt?.started_at ?? job.created_at)
        assert.isAtMost(seen, 11_000)
      })
    )

    it.effect("gives up in order what it works on when it is stopped, for the next one to go on at once", () =>
      Effect.gen(function* () {
        const { enqueue, get, until } = yield* given(traffic)
        const kind = newKind({ run: ({ claim }) => (claim.attempt === 1 ? Effect.never : Effect.succeed(succeeded)) })
        const id = yield* enqueue(kind)
        yield* Effect.provide(
          until(id, ({ state }) => state === "running"),
          working(kind)
        )
        const job = yield* get(id)
        const stopped = `Its worker ${self} was stopped before it was done. Attempt 2 of 4 is due at once.`
        assert.deepStrictEqual([job.state, errors(job)], ["retry_wait", [["abandoned", stopped]]])
        yield* Effect.provide(
          until(id, ({ state }) => state === "succeeded"),
          working(kind)
        )
      })
    )
  })
}
