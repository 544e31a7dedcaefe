import { assert, layer as suite } from "@effect/vitest"
import { turnOfTheLoop } from "@reins/base/base/EventLoop"
import { AccountId, JobId, newId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { fromNow, now } from "@reins/base/domain/Timestamp"
import type { Outcome } from "@reins/core/jobs/Claim"
import { Jobs } from "@reins/core/jobs/Jobs"
import { identity } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Effect, TestClock, TestContext } from "effect"
import { claimOne, enqueue, failure, finish, newKind, newMember, worker } from "./Queue.js"

for (const { name, layer } of databases) {
  suite(identity(layer), { excludeTestServices: true })(`the evidence of jobs on ${name}`, (it) => {
    it.effect(
      "an operation tells those who belong to its workspace what became of each attempt and when the next is due",
      () =>
        Effect.gen(function* () {
          const jobs = yield* Jobs
          const kind = newKind()
          const { principal, workspaceId } = yield* newMember
          const ref = yield* enqueue(kind, { workspaceId, subject: { type: "session", id: "sess_1" } })
          const at = yield* now
          yield* finish(yield* claimOne(kind), { state: "retry_wait", error: failure, attempt: "unknown", delayMs: 0 })
          const first = { ...failure, message: "It failed. Attempt 2 of 3 is due at once." }
          const waiting = yield* jobs.get(principal, ref.job_id)
          assert.deepStrictEqual(
            [waiting.state, waiting.error, waiting.run_at, waiting.finished_at],
            ["retry_wait", first, at, null]
          )
          yield* finish(yield* claimOne(kind), {
            state: "retry_wait",
            error: failure,
            attempt: "failed",
            delayMs: 4_000
          })
          const due = yield* fromNow(4_000)
          const second = { ...failure, message: `It failed. Attempt 3 of 3 is due at ${due}.` }
          assert.strictEqual((yield* jobs.get(principal, ref.job_id)).run_at, due)
          yield* TestClock.adjust(4_000)
          const third = { ...failure, message: "It failed. This was the last of 3 attempts.", retryable: false }
          yield* finish(yield* claimOne(kind), { state: "failed", error: failure, attempt: "failed" })

          const operation = yield* jobs.operation(principal, ref.id)
          assert.deepStrictEqual(
            [operation.id, operation.kind, operation.state, operation.subject],
            [ref.id, kind, "failed", { type: "session", id: "sess_1" }]
          )
          assert.deepStrictEqual(operation.jobs, [yield* jobs.get(principal, ref.job_id)])
          const [job] = operation.jobs
          assert.deepStrictEqual(
            job?.attempts.map((attempt) => [attempt.ordinal, attempt.state, attempt.error, attempt.worker_id]),
            [
              [1, "unknown", first, worker.workerId],
              [2, "failed", second, worker.workerId],
              [3, "failed", third, worker.workerId]
            ]
          )
          assert.deepStrictEqual([job?.error, job?.run_at, job?.attempt_count], [third, null, 3])
          assert.strictEqual(operation.finished_at, yield* now)
        }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.effect("jobs of other workspaces and of none are answered like jobs that do not exist", () =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
        const stranger = yield* newMember
        const { workspaceId } = yield* newMember
        const foreign = yield* enqueue(newKind(), { workspaceId })
        const nobodys = yield* enqueue(newKind())
        const errors = yield* Effect.forEach([foreign.job_id, nobodys.job_id, yield* newId(JobId), "x"], (id) =>
          Effect.flip(jobs.get(stranger.principal, id))
        )
        const operations = yield* Effect.forEach([foreign.id, nobodys.id, "x"], (id) =>
          Effect.flip(jobs.operation(stranger.principal, id))
        )
        assert.strictEqual(new Set([...errors, ...operations].map((error) => `${error.code} ${error.message}`)).size, 1)
        assert.strictEqual(errors[0]?.code, "not_found")
        const nobody: Principal = { ...stranger.principal, accountId: yield* newId(AccountId) }
        assert.strictEqual((yield* Effect.flip(jobs.get(nobody, foreign.job_id))).code, "not_found")
      })
    )

    it.effect("a job that is read while it is attempted never says something else than its attempts", () =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
        const kind = newKind()
        const { principal, workspaceId } = yield* newMember
        const { job_id } = yield* enqueue(kind, { workspaceId, maxAttempts: 1000 })
        const retry: Outcome = { state: "retry_wait", error: failure, attempt: "failed", delayMs: 0 }
        const attempting = Effect.repeatN(
          Effect.flatMap(claimOne(kind), (claim) => finish(claim, retry)),
          60
        )
        const reading = jobs.get(principal, job_id).pipe(
          Effect.tap(({ attempt_count, attempts, state }) =>
            Effect.sync(() =>
              assert.deepStrictEqual(
                [attempts.length, attempts.at(-1)?.state],
                [attempt_count, state === "running" ? "running" : state === "queued" ? undefined : "failed"]
              )
            )
          ),
          // A fiber that only yields lets a thousand others go before the loop comes round, and commits begin with a turn of the loop.
          Effect.zipRight(turnOfTheLoop),
          Effect.forever
        )
        const four = Effect.all([reading, reading, reading, reading], { concurrency: "unbounded" })
        yield* Effect.raceFirst(attempting, four)
      })
    )
  })
}
