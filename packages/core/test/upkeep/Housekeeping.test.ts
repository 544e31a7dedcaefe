import { assert, layer as withLayer } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { AutomationStore } from "@reins/core/automations/AutomationStore"
import { RunStore } from "@reins/core/automations/RunStore"
import { Retention } from "@reins/core/deletion/Retention"
import { EventRetention } from "@reins/core/events/EventRetention"
import { FollowerStore } from "@reins/core/events/FollowerStore"
import { WorkspaceEvents } from "@reins/core/events/WorkspaceEvents"
import { HookStore } from "@reins/core/hooks/HookStore"
import { Accounts } from "@reins/core/identity/Accounts"
import { ConnectionLoginStore } from "@reins/core/logins/ConnectionLoginStore"
import { OauthStore } from "@reins/core/oauth/OauthStore"
import { sweeps } from "@reins/core/Rooms"
import { ToolCallStore } from "@reins/core/sessions/questions/ToolCallStore"
import { Database } from "@reins/core/store/Database"
import * as Housekeeping from "@reins/core/upkeep/Housekeeping"
import { WebhookStore } from "@reins/core/webhooks/WebhookStore"
import { fileLocks } from "@reins/core/worktrees/SessionLock"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { Bench } from "@reins/machine/bench/Bench"
import { diskHere } from "@reins/machine/bench/DiskHere"
import { goodPassword, identity, newClient, newEmail, nextMail } from "@reins/testing/identity/Identity"
import { aMoment } from "@reins/testing/process/Waiting"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Layer, Logger, TestClock } from "effect"

const [sqlite] = databases

const tokens = Effect.gen(function* () {
  const db = yield* Database
  return (yield* db.all(db.sql`select hash from one_time_tokens`)).length
})

const until = (expected: number) =>
  Effect.repeat(Effect.zipRight(aMoment, tokens), { until: (count) => count === expected })

/** Lets hours pass, one by one. */
const hoursUntil = (expected: number) =>
  Effect.repeat(Effect.zipRight(TestClock.adjust("1 hour"), tokens), { until: (count) => count === expected })

const newToken = Effect.gen(function* () {
  const accounts = yield* Accounts
  const email = newEmail()
  yield* accounts.register({ email, password: goodPassword }, newClient())
  yield* nextMail(email)
})

/** The disk of this machine, where no session is. */
const bench = Layer.effect(
  Bench,
  Effect.gen(function* () {
    return { ...(yield* Bench), disk: yield* diskHere }
  })
).pipe(Layer.provide(Layer.merge(Bench.layerNone, fileLocks)))

/** The calls of functions, in an installation without sessions. */
const calls = Layer.mock(ToolCallStore, { overdue: () => Effect.succeed([]) })

if (sqlite !== undefined) {
  withLayer(
    Layer.mergeAll(
      EventRetention.layer,
      WorkspaceEvents.layer,
      WebhookStore.layer,
      Snapshots.layerNone,
      bench,
      Retention.layerNone,
      AutomationStore.layer,
      RunStore.layer,
      HookStore.layer,
      OauthStore.layer,
      ConnectionLoginStore.layer,
      calls
    ).pipe(
      Layer.provide(FollowerStore.layer),
      Layer.provideMerge(CoreConfig.layer({ dataDir: "/nonexistent" })),
      Layer.provideMerge(identity(sqlite.layer))
    )
  )("Housekeeping", (it) => {
    it.effect("deletes what is of no use any more at the start, and each hour after that", () =>
      Effect.gen(function* () {
        yield* newToken
        yield* TestClock.adjust("24 hours")
        yield* Effect.gen(function* () {
          yield* until(0)
          yield* newToken
          assert.strictEqual(yield* tokens, 1)
          yield* hoursUntil(0)
        }).pipe(Effect.provide(Housekeeping.layerOf(sweeps)))
      })
    )

    it.effect("goes on when something cannot be deleted, and says so", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const lines: Array<unknown> = []
        const logger = Logger.make(({ annotations, message }) => {
          lines.push([message, ...annotations])
        })
        let broken = true
        const purge = Effect.suspend(() => (broken ? Effect.dieMessage("disk full") : accounts.purge))
        yield* newToken
        yield* TestClock.adjust("24 hours")
        const housekeeping = Housekeeping.layerOf(sweeps).pipe(
          Layer.provide(Layer.succeed(Accounts, { ...accounts, purge })),
          Layer.provide(Logger.replace(Logger.defaultLogger, logger))
        )
        yield* Effect.gen(function* () {
          yield* Effect.repeat(aMoment, { until: () => lines.length > 0 })
          broken = false
          yield* hoursUntil(0)
        }).pipe(Effect.provide(housekeeping))
        assert.include(JSON.stringify(lines), "old records could not be deleted")
        assert.include(JSON.stringify(lines), "accounts")
      })
    )
  })
}
