import { assert, layer as suite } from "@effect/vitest"
import type { Claim, Outcome } from "@reins/core/jobs/Claim"
import { type JobState, jobStates } from "@reins/core/jobs/Job"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { JobStore } from "@reins/core/jobs/JobStore"
import type { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { identity } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { walks } from "@reins/testing/Volume"
import { Effect, Runtime, TestClock, TestContext } from "effect"
import * as fc from "fast-check"
import { attemptsOf, cancel, enqueue, failure, finish, newKind, stateOf, worker } from "./Queue.js"

for (const { name, layer } of databases) {
  suite(identity(layer), { excludeTestServices: true })(`the moves of jobs on ${name}`, (it) => {
    it.effect("whatever happens to a job, it moves as drawn, one attempt runs at most, and its end is final", () =>
      Effect.gen(function* () {
        const runtime = yield* Effect.runtime<Database | Journal | JobClaims | JobStore>()
        const moves = fc.array(fc.constantFrom(...moveNames), { minLength: 1, maxLength: 25 })
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(fc.boolean(), moves, (held, names) =>
              Runtime.runPromise(runtime)(Effect.provide(walk(held, names), TestContext.TestContext))
            ),
            { numRuns: walks.jobs }
          )
        )
      })
    )
  })
}

const moveNames = ["claim", "renew", "succeed", "fail", "retry", "stopped", "cancel", "release", "wait"] as const

/** Does the moves to one job, with every claim that it ever had, and checks after each what must always hold. */
const walk = (held: boolean, names: ReadonlyArray<(typeof moveNames)[number]>) =>
  Effect.gen(function* () {
    const jobs = yield* JobClaims
    const store = yield* JobStore
    const journal = yield* Journal
    const kind = newKind()
    const { job_id } = yield* enqueue(kind, { held })
    const claims: Array<Claim> = []
    const withEveryClaim = (outcome: Outcome) => Effect.forEach(claims, (claim) => finish(claim, outcome))
    const moves = {
      claim: Effect.map(jobs.claim(kind, 1, worker), (taken) => claims.push(...taken)),
      renew: Effect.forEach(claims, jobs.renew),
      succeed: Effect.suspend(() => withEveryClaim({ state: "succeeded" })),
      fail: Effect.suspend(() => withEveryClaim({ state: "failed", error: failure, attempt: "failed" })),
      retry: Effect.suspend(() =>
        withEveryClaim({ state: "retry_wait", error: failure, attempt: "failed", delayMs: 1_000 })
      ),
      stopped: Effect.suspend(() => withEveryClaim({ state: "cancelled" })),
      cancel: cancel(job_id),
      release: journal.commit(store.release(job_id)),
      wait: TestClock.adjust("2 seconds")
    }
    let before: JobState = "queued"
    for (const name of names) {
      yield* moves[name]
      const after: JobState = yield* stateOf(job_id)
      assert.isTrue(after === before || jobStates.allows(before, after), `${before} became ${after} by ${name}`)
      const attempts = yield* attemptsOf(job_id)
      assert.deepStrictEqual(
        attempts.map((attempt) => attempt.ordinal),
        claims.map((claim) => claim.attempt)
      )
      const running = attempts.filter((attempt) => attempt.state === "running")
      assert.strictEqual(running.length, after === "running" ? 1 : 0)
      assert.isTrue(attempts.every((attempt) => (attempt.state === "running") === (attempt.finished_at === null)))
      before = after
    }
  })
