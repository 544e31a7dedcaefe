import type { JobId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Accounts } from "@reins/core/identity/Accounts"
import type { Claim, Outcome } from "@reins/core/jobs/Claim"
import type { JobState } from "@reins/core/jobs/Job"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { JobStore, type NewJob } from "@reins/core/jobs/JobStore"
import type { Commit } from "@reins/core/store/Commit"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { newAccount } from "@reins/testing/identity/Identity"
import { Effect } from "effect"

let kinds = 0
/** A kind of job that no other test uses. */
export const newKind = () => `test.${++kinds}`

export const worker = { workerId: "one/1", bootId: "boot_one" }
export const failure = { code: "test_failure", message: "It failed.", retryable: true }

export const enqueue = (kind: string, changes: Partial<NewJob> = {}) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const jobs = yield* JobStore
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

export const claimOne = (kind: string) =>
  Effect.gen(function* () {
    const [claim] = yield* (yield* JobClaims).claim(kind, 1, worker)
    return claim ?? (yield* Effect.dieMessage(`no job of ${kind} is due`))
  })

export const lostOf = (kind: string, boots: Parameters<JobClaims["Type"]["listLost"]>[0]) =>
  Effect.gen(function* () {
    const lost = yield* (yield* JobClaims).listLost(boots)
    return lost.filter(({ claim }) => claim.kind === kind)
  })

/** Commits what requires a commit. */
export const inCommit = <A, E>(effect: Effect.Effect<A, E, Commit>) =>
  Effect.flatMap(Journal, (journal) => journal.commit(effect))

export const finish = (claim: Claim, outcome: Outcome) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const jobs = yield* JobClaims
    return yield* journal.commit(
      Effect.tap(jobs.fence(claim), (held) => (held ? jobs.finish(claim, outcome) : Effect.void))
    )
  })

export const cancel = (jobId: JobId) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const jobs = yield* JobStore
    yield* journal.commit(jobs.cancel(jobId))
  })

export const stateOf = (jobId: JobId) =>
  Effect.gen(function* () {
    const db = yield* Database
    const row = yield* db.first(db.sql<{ state: JobState }>`select state from jobs where id = ${jobId}`)
    return row?.state ?? (yield* Effect.dieMessage(`no job ${jobId}`))
  })

export const attemptsOf = (jobId: JobId) =>
  Effect.flatMap(Database, (db) =>
    db.all(db.sql<{ ordinal: number; state: string; finished_at: string | null }>`
      select ordinal, state, finished_at from attempts where job_id = ${jobId} order by ordinal`)
  )

export const newMember = Effect.gen(function* () {
  const accounts = yield* Accounts
  const { id } = yield* newAccount
  const principal: Principal = { accountId: id, scopes: ["read"], workspaceId: null, via: { kind: "embedded" } }
  const me = yield* accounts.me(principal)
  const workspaceId: WorkspaceId = me.workspaces[0]?.id ?? (yield* Effect.dieMessage("no workspace"))
  return { principal, workspaceId }
})
