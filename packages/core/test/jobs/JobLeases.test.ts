import { assert, layer as suite } from "@effect/vitest"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { identity } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Effect, TestClock, TestContext } from "effect"
import { attemptsOf, claimOne, enqueue, failure, finish, inCommit, lostOf, newKind, stateOf, worker } from "./Queue.js"

for (const { name, layer } of databases) {
  suite(identity(layer), { excludeTestServices: true })(`the leases of claims on ${name}`, (it) => {
    it.effect("an attempt that is no longer the running one can neither write, nor renew, nor end the job", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const kind = newKind()
        const { job_id } = yield* enqueue(kind)
        const stale = yield* claimOne(kind)
        yield* finish(stale, { state: "retry_wait", error: failure, attempt: "abandoned", delayMs: 0 })
        assert.isFalse(yield* inCommit(jobs.fence(stale)))
        const current = yield* claimOne(kind)
        assert.strictEqual(current.attempt, 2)
        assert.isFalse(yield* finish(stale, { state: "succeeded" }))
        assert.deepStrictEqual(yield* jobs.renew(stale), { held: false, cancelRequested: false })
        assert.strictEqual(yield* stateOf(job_id), "running")
        assert.isTrue(yield* finish(current, { state: "succeeded" }))
        assert.isFalse(yield* inCommit(jobs.fence(current)))
        assert.deepStrictEqual(
          (yield* attemptsOf(job_id)).map((attempt) => attempt.state),
          ["abandoned", "succeeded"]
        )
      })
    )

    it.effect("a claim lasts for its lease, and for another one with each renewal", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const { leaseMs } = jobs
        const kind = newKind()
        const { job_id } = yield* enqueue(kind)
        const claim = yield* claimOne(kind)
        const lost = lostOf(kind, { bootId: worker.bootId, alone: false, ended: [] })
        yield* TestClock.adjust(leaseMs - 1)
        assert.deepStrictEqual(yield* lost, [])
        assert.deepStrictEqual(yield* jobs.renew(claim), { held: true, cancelRequested: false })
        yield* TestClock.adjust(leaseMs - 1)
        assert.deepStrictEqual(yield* lost, [])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* lost, [{ claim, loss: "silent" }])
        assert.strictEqual(yield* stateOf(job_id), "running")
      }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.effect("a worker whose claim has run out can neither write nor renew, although nobody has taken over yet", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const { leaseMs } = jobs
        const kind = newKind()
        const { job_id } = yield* enqueue(kind)
        const claim = yield* claimOne(kind)
        yield* TestClock.adjust(leaseMs - 1)
        assert.isTrue(yield* inCommit(jobs.fence(claim)))
        yield* TestClock.adjust(1)
        assert.isFalse(yield* inCommit(jobs.fence(claim)))
        assert.isFalse(yield* finish(claim, { state: "succeeded" }))
        assert.deepStrictEqual(yield* jobs.renew(claim), { held: false, cancelRequested: false })
        assert.strictEqual(yield* stateOf(job_id), "running")
        // The worker that takes over ends the attempt in its place.
        assert.isTrue(yield* inCommit(jobs.seize(claim)))
      }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.effect(
      "the jobs of a boot that has ended are lost at once, those of another living one when their claim runs out",
      () =>
        Effect.gen(function* () {
          const kind = newKind()
          yield* enqueue(kind)
          const claim = yield* claimOne(kind)
          const other = { bootId: "boot_two", alone: false, ended: [] }
          assert.deepStrictEqual(yield* lostOf(kind, other), [])
          assert.deepStrictEqual(yield* lostOf(kind, { ...other, ended: ["boot_three"] }), [])
          assert.deepStrictEqual(yield* lostOf(kind, { ...other, ended: ["boot_zero", worker.bootId] }), [
            { claim, loss: "ended" }
          ])
          assert.deepStrictEqual(yield* lostOf(kind, { ...other, alone: true }), [{ claim, loss: "ended" }])
          assert.deepStrictEqual(yield* lostOf(kind, { bootId: worker.bootId, alone: true, ended: [] }), [])
        })
    )

    it.effect(
      "of those who find a lost attempt one takes it over, and then nobody else may write, renew or end it",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobClaims
          const { leaseMs } = jobs
          const kind = newKind()
          const { job_id } = yield* enqueue(kind)
          const claim = yield* claimOne(kind)
          assert.isUndefined(yield* jobs.takeOver(claim, "silent", "boot_two"))
          yield* TestClock.adjust(leaseMs)
          const taken = yield* jobs.takeOver(claim, "silent", "boot_two")
          assert.deepStrictEqual(taken, { ...claim, bootId: "boot_two" })
          assert.isUndefined(yield* jobs.takeOver(claim, "ended", "boot_three"))
          assert.deepStrictEqual(yield* jobs.renew(claim), { held: false, cancelRequested: false })
          assert.isFalse(yield* inCommit(jobs.fence(claim)))
          assert.isFalse(yield* inCommit(jobs.seize(claim)))
          assert.strictEqual(yield* stateOf(job_id), "running")
          assert.isTrue(yield* inCommit(jobs.seize(taken ?? claim)))
          // The worker that has taken it over may be lost as well.
          const found = yield* lostOf(kind, { bootId: "boot_three", alone: false, ended: ["boot_two"] })
          assert.deepStrictEqual(found, [{ claim: { ...claim, bootId: "boot_two" }, loss: "ended" }])
        }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.effect("a boot is silent when it holds no claim that has not run out, whatever other boots hold", () =>
      Effect.gen(function* () {
        const jobs = yield* JobClaims
        const { leaseMs } = jobs
        const kind = newKind()
        const claimAs = (bootId: string) =>
          Effect.zipRight(enqueue(kind), jobs.claim(kind, 1, { workerId: "one/1", bootId }))
        const [silent, living] = [`silent_${kind}`, `living_${kind}`]
        assert.isTrue(yield* jobs.isSilent(silent))
        yield* claimAs(silent)
        assert.isFalse(yield* jobs.isSilent(silent))
        yield* TestClock.adjust(leaseMs)
        yield* claimAs(living)
        assert.deepStrictEqual([yield* jobs.isSilent(silent), yield* jobs.isSilent(living)], [true, false])
      }).pipe(Effect.provide(TestContext.TestContext))
    )
  })
}
