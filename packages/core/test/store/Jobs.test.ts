import { assert, layer as suite } from "@effect/vitest"
import { AccountId, JobId, newId, type WorkspaceId } from "@reins/core/domain/Ids"
import { type JobState, jobStates } from "@reins/core/domain/Job"
import type { Principal } from "@reins/core/domain/Principal"
import { fromNow, now, toMillis } from "@reins/core/domain/Timestamp"
import { Accounts } from "@reins/core/identity/Accounts"
import { type Claim, Jobs, leaseMs, type NewJob, type Outcome } from "@reins/core/jobs/Jobs"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { Effect, Runtime, TestClock, TestContext } from "effect"
import * as fc from "fast-check"
import { identity, newAccount } from "../identity/Identity.js"
import { databases } from "./Databases.js"

let kinds = 0
/** A kind of job that no other test uses. */
const newKind = () => `test.${++kinds}`

const worker = { workerId: "one/1", bootId: "boot_one" }
const failure = { code: "test_failure", message: "It failed.", retryable: true }

const enqueue = (kind: string, changes: Partial<NewJob> = {}) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const jobs = yield* Jobs
    const job = {
      kind,
      subject: { type: "test", id: kind },
      workspaceId: null,
      payload: {},
      maxAttempts: 3,
      ...changes
    }
    return yield* journal.commit(jobs.enqueue(job))
  })

const claimOne = (kind: string) =>
  Effect.gen(function* () {
    const [claim] = yield* (yield* Jobs).claim(kind, 1, worker)
    return claim ?? (yield* Effect.dieMessage(`no job of ${kind} is due`))
  })

const lostOf = (kind: string, boots: Parameters<Jobs["Type"]["listLost"]>[0]) =>
  Effect.gen(function* () {
    const lost = yield* (yield* Jobs).listLost(boots)
    return lost.filter(({ claim }) => claim.kind === kind)
  })

const finish = (claim: Claim, outcome: Outcome) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const jobs = yield* Jobs
    return yield* journal.commit(
      Effect.tap(jobs.fence(claim), (held) => (held ? jobs.finish(claim, outcome) : Effect.void))
    )
  })

const cancel = (jobId: JobId) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const jobs = yield* Jobs
    yield* journal.commit(jobs.cancel(jobId))
  })

const stateOf = (jobId: JobId) =>
  Effect.gen(function* () {
    const db = yield* Database
    const row = yield* db.first(db.sql<{ state: JobState }>`select state from jobs where id = ${jobId}`)
    return row?.state ?? (yield* Effect.dieMessage(`no job ${jobId}`))
  })

const attemptsOf = (jobId: JobId) =>
  Effect.flatMap(Database, (db) =>
    db.all(db.sql<{ ordinal: number; state: string; finished_at: string | null }>`
      select ordinal, state, finished_at from attempts where job_id = ${jobId} order by ordinal`)
  )

const newMember = Effect.gen(function* () {
  const accounts = yield* Accounts
  const { id } = yield* newAccount
  const principal: Principal = { accountId: id, scopes: ["read"], workspaceId: null, via: { kind: "embedded" } }
  const me = yield* accounts.me(principal)
  const workspaceId: WorkspaceId = me.workspaces[0]?.id ?? (yield* Effect.dieMessage("no workspace"))
  return { principal, workspaceId }
})

for (const { name, layer } of databases) {
  suite(identity(layer), { excludeTestServices: true })(`Jobs on ${name}`, (it) => {
    it.effect("jobs are claimed oldest first, of one kind, and no more than asked for", () =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
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
        const jobs = yield* Jobs
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
        yield* (yield* Journal).commit(jobs.release(held))
        yield* jobs.catchUp
        assert.deepStrictEqual(yield* claimed, [held])
      }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.effect("no job is claimed twice by workers that look at the same time", () =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
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
        const jobs = yield* Jobs
        const journal = yield* Journal
        const kind = newKind()
        const { job_id } = yield* enqueue(kind, { held: true })
        assert.deepStrictEqual(yield* jobs.claim(kind, 1, worker), [])
        assert.isUndefined(yield* jobs.nextDue([kind]))
        yield* journal.commit(jobs.release(job_id))
        assert.isDefined(yield* jobs.nextDue([kind]))
        assert.strictEqual((yield* claimOne(kind)).jobId, job_id)
      })
    )

    it.effect("an attempt that is no longer the running one can neither write, nor renew, nor end the job", () =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
        const kind = newKind()
        const { job_id } = yield* enqueue(kind)
        const stale = yield* claimOne(kind)
        yield* finish(stale, { state: "retry_wait", error: failure, attempt: "abandoned", delayMs: 0 })
        assert.isFalse(yield* jobs.fence(stale))
        const current = yield* claimOne(kind)
        assert.strictEqual(current.attempt, 2)
        assert.isFalse(yield* finish(stale, { state: "succeeded" }))
        assert.deepStrictEqual(yield* jobs.renew(stale), { held: false, cancelRequested: false })
        assert.strictEqual(yield* stateOf(job_id), "running")
        assert.isTrue(yield* finish(current, { state: "succeeded" }))
        assert.isFalse(yield* jobs.fence(current))
        assert.deepStrictEqual(
          (yield* attemptsOf(job_id)).map((attempt) => attempt.state),
          ["abandoned", "succeeded"]
        )
      })
    )

    it.effect("a claim lasts for its lease, and for another one with each renewal", () =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
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
        const jobs = yield* Jobs
        const kind = newKind()
        const { job_id } = yield* enqueue(kind)
        const claim = yield* claimOne(kind)
        yield* TestClock.adjust(leaseMs - 1)
        assert.isTrue(yield* jobs.fence(claim))
        yield* TestClock.adjust(1)
        assert.isFalse(yield* jobs.fence(claim))
        assert.isFalse(yield* finish(claim, { state: "succeeded" }))
        assert.deepStrictEqual(yield* jobs.renew(claim), { held: false, cancelRequested: false })
        assert.strictEqual(yield* stateOf(job_id), "running")
        // Whoever takes over ends the attempt in its place.
        assert.isTrue(yield* jobs.seize(claim))
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

    it.effect("cancelling ends a job that waits, and asks the worker of a running one to stop", () =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
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
        const jobs = yield* Jobs
        const kind = newKind()
        const { job_id } = yield* enqueue(kind)
        const retry: Outcome = { state: "retry_wait", error: failure, attempt: "failed", delayMs: 4_000 }
        yield* finish(yield* claimOne(kind), retry)
        assert.strictEqual(yield* stateOf(job_id), "retry_wait")
        const due = yield* jobs.nextDue([kind])
        assert.strictEqual(due === undefined ? undefined : toMillis(due) - toMillis(yield* now), 4_000)
        yield* TestClock.adjust(3_999)
        assert.deepStrictEqual(yield* jobs.claim(kind, 1, worker), [])
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* claimOne(kind)).attempt, 2)
        assert.isUndefined(yield* jobs.nextDue([kind]))
        assert.isUndefined(yield* jobs.nextDue([]))
      }).pipe(Effect.provide(TestContext.TestContext))
    )

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

    it.effect("whatever happens to a job, it moves as drawn, one attempt runs at most, and its end is final", () =>
      Effect.gen(function* () {
        const runtime = yield* Effect.runtime<Database | Journal | Jobs>()
        const moves = fc.array(fc.constantFrom(...moveNames), { minLength: 1, maxLength: 25 })
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(fc.boolean(), moves, (held, names) =>
              Runtime.runPromise(runtime)(Effect.provide(walk(held, names), TestContext.TestContext))
            ),
            { numRuns: 40 }
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
    const jobs = yield* Jobs
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
      release: journal.commit(jobs.release(job_id)),
      wait: TestClock.adjust("2 seconds")
    }
    let before: JobState = "queued"
    for (const name of names) {
      yield* moves[name]
      const after: JobState = yield* stateOf(job_id)
      const reached = reachable(before)
      assert.isTrue(after === before || reached.has(after), `${before} became ${after} by ${name}`)
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

/** Where one move of the table leads: a due job passes through `queued` on its way from `retry_wait` to `running`. */
const reachable = (from: JobState): ReadonlySet<JobState> =>
  new Set(jobStates.transitions[from].flatMap((to) => (to === "queued" ? [to, ...jobStates.transitions[to]] : [to])))
