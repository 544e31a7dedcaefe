import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { newId, SessionId } from "@reins/base/domain/Ids"
import { fromNow, now, toMillis } from "@reins/base/domain/Timestamp"
import * as Core from "@reins/core/Core"
import * as Embedded from "@reins/core/Embedded"
import { FollowerStore } from "@reins/core/events/FollowerStore"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import type { JobKind } from "@reins/core/jobs/JobKind"
import * as Worker from "@reins/core/jobs/Worker"
import * as BootRecord from "@reins/core/placement/BootRecord"
import { Database } from "@reins/core/store/Database"
import { clockOf, Estimate } from "@reins/core/store/PgClock"
import * as Postgres from "@reins/core/store/Postgres"
import { followerName } from "@reins/core/webhooks/WebhookStore"
import { Webhooks } from "@reins/core/webhooks/Webhooks"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { aWhile } from "@reins/testing/process/Waiting"
import { migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { Deferred, Effect, Layer, Logger, LogLevel, type Redacted } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"
import { enqueue, inCommit, stateOf } from "./Queue.js"
import { newKind, succeeded } from "./Workers.js"

/** The clock of a machine that is set wrongly: it is ahead by so many milliseconds. */
const clockAhead = (ms: number) => {
  const wrong = new Estimate()
  const at = performance.now()
  wrong.learn(Date.now() + ms, at, at)
  return Layer.setClock(clockOf(wrong))
}

/** A machine of its own on the database, with its own disk and a clock of its own. */
const newMachine = Effect.fnUntraced(function* (url: Redacted.Redacted, keyFile: string, aheadMs: number) {
  const dataDir = join(yield* temporaryDirectory, "data")
  const config = CoreConfig.layer({
    dataDir,
    keyFile,
    executors: ["local"],
    prewarm: false,
    allowPrivateHosts: ["127.0.0.1"]
  })
  const runtime = yield* Layer.toRuntime(
    Core.layerWith({ manifests: smallAgents }).pipe(
      Layer.provideMerge(Layer.mergeAll(config, BootRecord.layer(dataDir, { alone: false }), Postgres.layer(url))),
      Layer.provideMerge(Layer.merge(PasswordCost.layerTest, Logger.minimumLogLevel(LogLevel.Error))),
      Layer.provide(clockAhead(aheadMs))
    )
  )
  const run = Effect.provide(runtime)
  return { run, work: (kinds: ReadonlyArray<JobKind>) => run(Layer.build(Worker.layer(Effect.succeed(kinds)))) }
})

const worker = (name: string) => ({ workerId: `${name}/1`, bootId: `boot_${name}` })
const boots = { bootId: "boot_other", alone: false, ended: [] }

/** The milliseconds until the next job of the kind is due, as the worker of a machine sees it. */
const leftOf = (kind: string) =>
  Effect.gen(function* () {
    const due = (yield* (yield* JobClaims).waiting([kind])).get(kind)
    return due === undefined ? Number.POSITIVE_INFINITY : toMillis(due) - toMillis(yield* now)
  })

describe("machines whose clocks differ, on PostgreSQL", () => {
  const stealsNothing = (aheadMs: number) =>
    it.scopedLive(`a machine ${aheadMs / 1000} s ahead steals no living turn, and loses none of its own`, () =>
      Effect.gen(function* () {
        const url = yield* migratedPostgresDatabase
        const keyFile = join(yield* temporaryDirectory, "keyring.json")
        const [right, wrong] = [yield* newMachine(url, keyFile, 0), yield* newMachine(url, keyFile, aheadMs)]
        const end = yield* Deferred.make<void>()
        const long = newKind({ run: () => Effect.as(Deferred.await(end), succeeded) })
        const short = newKind()
        yield* right.work([long])
        const living = yield* right.run(enqueue(long.kind))
        yield* Effect.repeat(Effect.zipRight(aWhile, right.run(stateOf(living.job_id))), {
          until: (state) => state === "running"
        })

        // A worker ends lost attempts before it begins others, so the end of this job proves that it has looked.
        yield* wrong.work([long, short])
        const after = yield* wrong.run(enqueue(short.kind))
        yield* Effect.repeat(Effect.zipRight(aWhile, wrong.run(stateOf(after.job_id))), {
          until: (state) => state === "succeeded"
        })
        assert.deepStrictEqual(yield* wrong.run(Effect.flatMap(JobClaims, (jobs) => jobs.listLost(boots))), [])
        assert.strictEqual(yield* right.run(stateOf(living.job_id)), "running")

        const own = newKind()
        yield* wrong.run(enqueue(own.kind))
        const [claim] = yield* wrong.run(Effect.flatMap(JobClaims, (jobs) => jobs.claim(own.kind, 1, worker("wrong"))))
        if (claim === undefined) return assert.fail("it was not due")
        const as = { ...worker("right"), alone: false, ended: [] }
        assert.deepStrictEqual(yield* right.run(Effect.flatMap(JobClaims, (jobs) => jobs.listLost(as))), [])
        assert.isUndefined(
          yield* right.run(Effect.flatMap(JobClaims, (jobs) => jobs.takeOver(claim, "silent", "boot_right")))
        )
        assert.isFalse(yield* right.run(Effect.flatMap(JobClaims, (jobs) => jobs.isSilent("boot_wrong"))))
        assert.isTrue(yield* wrong.run(Effect.flatMap(JobClaims, (jobs) => inCommit(jobs.fence(claim)))))
        const renewed = yield* wrong.run(Effect.flatMap(JobClaims, (jobs) => jobs.renew(claim)))
        assert.deepStrictEqual(renewed, { held: true, cancelRequested: false })

        yield* Deferred.succeed(end, undefined)
        yield* Effect.repeat(Effect.zipRight(aWhile, right.run(stateOf(living.job_id))), {
          until: (state) => state === "succeeded"
        })
        const attempts = yield* right.run(
          Effect.flatMap(Database, ({ all, sql }) =>
            all(sql`select state from attempts where job_id = ${living.job_id}`)
          )
        )
        assert.deepStrictEqual(attempts, [{ state: "succeeded" }])
      })
    )

  for (const aheadMs of [300_000, -300_000]) stealsNothing(aheadMs)
  variants(() => {
    for (const aheadMs of [60_000, -60_000]) stealsNothing(aheadMs)
  })

  it.scopedLive("they agree on what is due, on ids and on who holds a webhook endpoint", () =>
    Effect.gen(function* () {
      const url = yield* migratedPostgresDatabase
      const keyFile = join(yield* temporaryDirectory, "keyring.json")
      const [ahead, behind] = [yield* newMachine(url, keyFile, 300_000), yield* newMachine(url, keyFile, -300_000)]
      const order = [ahead, behind, ahead, behind, ahead]
      const ids = yield* Effect.forEach(order, ({ run }) => Effect.delay(run(newId(SessionId)), 5))
      assert.deepStrictEqual([...ids].sort(), ids)
      const [one, other] = [toMillis(yield* ahead.run(now)), toMillis(yield* behind.run(now))]
      assert.isBelow(Math.abs(one - other), 30_000)

      const { kind } = newKind()
      for (const { run } of [ahead, behind])
        yield* run(Effect.flatMap(fromNow(60_000), (runAt) => enqueue(kind, { runAt })))
      for (const { run } of [ahead, behind]) {
        const jobs = yield* run(JobClaims)
        assert.deepStrictEqual(yield* run(jobs.claim(kind, 2, worker("early"))), [])
        // The clocks differ by ten minutes, and a busy machine takes its time.
        assert.approximately(yield* run(leftOf(kind)), 60_000, 30_000)
        yield* run(jobs.catchUp)
      }
      for (const { run } of [ahead, behind]) {
        const late = newKind()
        yield* run(enqueue(late.kind))
        for (const look of [ahead, behind]) assert.isBelow(Math.abs(yield* look.run(leftOf(late.kind))), 30_000)
      }

      const { principal, workspaceId } = yield* ahead.run(Embedded.owner)
      const webhooks = yield* ahead.run(Webhooks)
      for (const [holder, looker] of [
        [behind, ahead],
        [ahead, behind]
      ] as const) {
        const endpoint = yield* holder.run(webhooks.create(principal, workspaceId, { url: "http://127.0.0.1/" }))
        const hold = Effect.flatMap(FollowerStore, (followers) => followers(followerName).hold(endpoint.id))
        assert.strictEqual(yield* holder.run(hold), endpoint.position)
        assert.isUndefined(yield* looker.run(hold))
      }
    })
  )
})
