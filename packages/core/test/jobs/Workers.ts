import { Boot } from "@reins/base/base/Boot"
import { turnOfTheLoop } from "@reins/base/base/EventLoop"
import type { JobId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Accounts } from "@reins/core/identity/Accounts"
import type { Job } from "@reins/core/jobs/Job"
import { JobError, type JobKind } from "@reins/core/jobs/JobKind"
import { JobStore } from "@reins/core/jobs/JobStore"
import { Jobs } from "@reins/core/jobs/Jobs"
import * as Worker from "@reins/core/jobs/Worker"
import type { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { newAccount } from "@reins/testing/identity/Identity"
import { aMoment } from "@reins/testing/process/Waiting"
import { Context, Effect, Layer, Logger, TestClock } from "effect"

export const succeeded = { state: "succeeded" as const, command: Effect.void }

let kinds = 0
/** A kind that no other test uses, which succeeds and is tried again when its worker is lost. */
export const newKind = (changes: Partial<JobKind> = {}): JobKind => ({
  kind: `worker.${++kinds}`,
  concurrency: 4,
  deadlineMs: 600_000,
  run: () => Effect.succeed(succeeded),
  failed: () => Effect.void,
  lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void }),
  ...changes
})

/** Fails until the attempt of the given number, which succeeds. */
export const failingUntil =
  (attempt: number): JobKind["run"] =>
  ({ claim }) =>
    claim.attempt < attempt
      ? Effect.fail(new JobError({ code: "remote_unavailable", message: "Nobody answers.", retryable: true }))
      : Effect.succeed(succeeded)

/** A server that works these jobs. */
export const working = (
  kind: JobKind | ReadonlyArray<JobKind>,
  clearAfter?: (bootIds: ReadonlyArray<string>) => Effect.Effect<void>
) => Worker.layer(Effect.succeed([kind].flat()), clearAfter).pipe(Layer.provide(Logger.remove(Logger.defaultLogger)))

/** Another server on the same database, which knows of these boots that they have ended. */
export const elsewhere = (nodeId: string, ended: ReadonlyArray<string> = []) =>
  Layer.succeed(
    Boot,
    Boot.of({
      nodeId,
      bootId: `boot_${nodeId}`,
      alone: false,
      ended: Effect.succeed(ended),
      forget: () => Effect.void
    })
  )

/** The load of a database. */
export interface Traffic {
  /** The number of transactions that were begun. */
  transactions: number
  /** The number of statements and transactions that are not done yet. */
  pending: number
}

/** A database whose traffic is counted. */
export const counted = (layer: Layer.Layer<Database | Bell>) => {
  const traffic: Traffic = { transactions: 0, pending: 0 }
  const count = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => (traffic.pending += 1)),
      () => effect,
      () => Effect.sync(() => (traffic.pending -= 1))
    )
  const database = Layer.map(layer, (context) => {
    const db = Context.get(context, Database)
    const transaction: typeof db.transaction = (effect) =>
      Effect.suspend(() => {
        traffic.transactions += 1
        return count(db.transaction(effect))
      })
    const all: typeof db.all = (query) => count(db.all(query))
    const first: typeof db.first = (query) => count(db.first(query))
    const run: typeof db.run = (query) => count(db.run(query))
    return Context.add(context, Database, Database.of({ ...db, transaction, all, first, run }))
  })
  return { traffic, database }
}

/** Waits until nothing is asked of the database any more. A fiber that has its answer asks the next thing a turn of the loop later. */
const quiet = (traffic: Traffic) => {
  let turns = 0
  return Effect.repeat(
    Effect.suspend(() => (traffic.pending > 0 ? aMoment : turnOfTheLoop)),
    {
      until: () => {
        turns = traffic.pending > 0 ? 0 : turns + 1
        return turns > 5
      }
    }
  )
}

/** A workspace whose jobs a test submits and looks at. */
export const given = Effect.fnUntraced(function* (traffic: Traffic) {
  const accounts = yield* Accounts
  const jobs = yield* Jobs
  const store = yield* JobStore
  const journal = yield* Journal
  const { id } = yield* newAccount
  const principal: Principal = { accountId: id, scopes: ["read"], workspaceId: null, via: { kind: "embedded" } }
  const { workspaces } = yield* accounts.me(principal)
  const workspaceId: WorkspaceId = workspaces[0]?.id ?? (yield* Effect.dieMessage("no workspace"))
  return {
    enqueue: (kind: JobKind) =>
      Effect.map(
        journal.commit(
          store.enqueue({
            kind: kind.kind,
            subject: { type: "test", id: kind.kind },
            workspaceId,
            payload: {},
            maxAttempts: 3
          })
        ),
        ({ job_id }) => job_id
      ),
    get: (id: JobId) => Effect.orDie(jobs.get(principal, id)),
    /** Lets the time pass, second by second. What a second begins is done before the next one, or a claim could run out meanwhile. */
    pass: (id: JobId, wanted: (job: Job) => boolean): Effect.Effect<Job> =>
      Effect.repeat(
        Effect.zipRight(
          TestClock.adjust("1 second"),
          Effect.suspend(() => quiet(traffic))
        ).pipe(Effect.zipRight(Effect.orDie(jobs.get(principal, id)))),
        { until: (job: Job) => wanted(job) }
      ),
    /** Looks again and again, without any time passing. */
    until: (id: JobId, wanted: (job: Job) => boolean): Effect.Effect<Job> =>
      Effect.repeat(Effect.zipRight(aMoment, Effect.orDie(jobs.get(principal, id))), {
        until: (job: Job) => wanted(job)
      })
  }
})

export const errors = (job: Job) => job.attempts.map(({ error, state }) => [state, error?.message ?? null])
