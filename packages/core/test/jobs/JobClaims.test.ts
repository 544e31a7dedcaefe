import { assert, layer as suite } from "@effect/vitest"
import type { JobId } from "@reins/base/domain/Ids"
import { fromNow, now, toMillis } from "@reins/base/domain/Timestamp"
import type { Outcome } from "@reins/core/jobs/Claim"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { JobStore } from "@reins/core/jobs/JobStore"
import { Journal } from "@reins/core/store/Journal"
import { identity } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Effect, TestClock, TestContext } from "effect"
import { cancel, claimOne, enqueue, failure, finish, newKind, stateOf, worker } from "./Queue.js"

for (const { name, layer } of databases) {
  suite(identity(layer), { excludeTestServices: true })(`the claims of jobs on ${name}`, (it) => {
    it.effect("jobs are claimed oldest first, of one kind, and no more than asked for", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const kind = newKind()
        const queued: Array<JobId> = []
        for (let index = 0; index < 5; index++) {
          queued.push((yield* enqueue(kind, { payload: { index } })).job_id)
          yield* enqueue(newKind())
          yield* TestClock.adjust("1 second")
        }
        const first = yield* jobs.claim(kind, 3, worker)
        const rest = yield* jobs.claim(kind, 3, worker)
        assert.deepStrictEqual(
          [...first, ...rest].map((claim) => claim.jobId),
          queued
        )
        assert.deepStrictEqual(
          first.map((claim) => [claim.payload.index, claim.attempt, claim.maxAttempts]),
          [
            [0, 1, 3],
            [1, 1, 3],
            [2, 1, 3]
          ]
        )
        assert.deepStrictEqual(yield* jobs.claim(kind, 3, worker), [])
      }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.effect("what waits only because the clock was ahead becomes due, and what is to wait still waits", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const [kind, delayed, retried] = [newKind(), newKind(), newKind()]
        yield* TestClock.setTime(25 * 60 * 60 * 1000)
        const first = (yield* enqueue(kind)).job_id
        const held = (yield* enqueue(kind, { held: true })).job_id
        yield* enqueue(delayed, { runAt: yield* fromNow(60_000) })
        yield* enqueue(retried)
        yield* finish(yield* claimOne(retried), {
          state: "retry_wait",
          error: failure,
          attempt: "failed",
          delayMs: 2000
        })
        yield* TestClock.setTime(0)
        const claimed = Effect.map(jobs.claim(kind, 9, worker), (claims) => claims.map(({ jobId }) => jobId))
        assert.deepStrictEqual(yield* claimed, [])
        yield* jobs.catchUp
        assert.deepStrictEqual(yield* claimed, [first])
        assert.lengthOf(yield* jobs.claim(retried, 9, worker), 1)
        assert.deepStrictEqual(yield* jobs.claim(delayed, 9, worker), [])
        yield* (yield* Journal).commit((yield* JobStore).release(held))
        yield* jobs.catchUp
        assert.deepStrictEqual(yield* claimed, [held])
      }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.effect("no job is claimed twice by workers that look at the same time", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const kind = newKind()
        const queued = yield* Effect.forEach(Array.from({ length: 40 }), () => enqueue(kind))
        const claims = yield* Effect.all(
          Array.from({ length: 12 }, (_, index) =>
            jobs.claim(kind, 5, { workerId: `${index}`, bootId: `boot_${index}` })
          ),
          { concurrency: "unbounded" }
        )
        const rest = yield* jobs.claim(kind, 40, worker)
        const taken = [...claims.flat(), ...rest].map((claim) => claim.jobId)
        assert.deepStrictEqual(taken.sort(), queued.map((job) => job.job_id).sort())
        assert.strictEqual(new Set(claims.flat().map((claim) => claim.attemptId)).size, claims.flat().length)
      })
    )

    it.effect("a held job waits until it is released", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const journal = yield* Journal
        const kind = newKind()
        const { job_id } = yield* enqueue(kind, { held: true })
        assert.deepStrictEqual(yield* jobs.claim(kind, 1, worker), [])
        assert.isFalse((yield* jobs.waiting([kind])).has(kind))
        yield* journal.commit((yield* JobStore).release(job_id))
        assert.isTrue((yield* jobs.waiting([kind])).has(kind))
        assert.strictEqual((yield* claimOne(kind)).jobId, job_id)
      })
    )

    it.effect("cancelling ends a job that waits, and asks the worker of a running one to stop", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const kind = newKind()
        const waiting = yield* enqueue(kind)
        yield* cancel(waiting.job_id)
        assert.strictEqual(yield* stateOf(waiting.job_id), "cancelled")
        assert.deepStrictEqual(yield* jobs.claim(kind, 1, worker), [])

        const running = yield* enqueue(kind)
        const claim = yield* claimOne(kind)
        yield* cancel(running.job_id)
        assert.strictEqual(yield* stateOf(running.job_id), "running")
        assert.deepStrictEqual(yield* jobs.renew(claim), { held: true, cancelRequested: true })
        yield* finish(claim, { state: "cancelled" })
        assert.strictEqual(yield* stateOf(running.job_id), "cancelled")

        const ended = yield* enqueue(kind)
        yield* finish(yield* claimOne(kind), { state: "succeeded" })
        yield* cancel(ended.job_id)
        assert.strictEqual(yield* stateOf(ended.job_id), "succeeded")
      })
    )

    it.effect("a job that is tried again waits for its delay, and says when it is due", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const kind = newKind()
        const { job_id } = yield* enqueue(kind)
        const retry: Outcome = { state: "retry_wait", error: failure, attempt: "failed", delayMs: 4_000 }
        yield* finish(yield* claimOne(kind), retry)
        assert.strictEqual(yield* stateOf(job_id), "retry_wait")
        const due = (yield* jobs.waiting([newKind(), kind])).get(kind)
        assert.strictEqual(due === undefined ? undefined : toMillis(due) - toMillis(yield* now), 4_000)
        yield* TestClock.adjust(3_999)
        assert.deepStrictEqual(yield* jobs.claim(kind, 1, worker), [])
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* claimOne(kind)).attempt, 2)
        assert.deepStrictEqual([...(yield* jobs.waiting([kind]))], [])
        assert.deepStrictEqual([...(yield* jobs.waiting([]))], [])
      }).pipe(Effect.provide(TestContext.TestContext))
    )
  })
}
