import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fromMillis } from "@reins/base/domain/Timestamp"
import { expireJob, fireJob, startJob } from "@reins/core/automations/AutomationJobs"
import * as Core from "@reins/core/Core"
import { PasswordCost } from "@reins/core/identity/Passwords"
import * as Worker from "@reins/core/jobs/Worker"
import * as BootRecord from "@reins/core/placement/BootRecord"
import { clockOf, Estimate } from "@reins/core/store/PgClock"
import * as Postgres from "@reins/core/store/Postgres"
import { migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Layer, Logger, LogLevel, type Redacted } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"
import { given } from "./Automated.js"

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
  const config = CoreConfig.layer({ dataDir, keyFile, executors: ["local"], prewarm: false, agentIdleMs: 0 })
  const runtime = yield* Layer.toRuntime(
    Core.layer.pipe(
      Layer.provideMerge(Layer.mergeAll(config, BootRecord.layer(dataDir, { alone: false }), Postgres.layer(url))),
      Layer.provideMerge(Layer.merge(PasswordCost.layerTest, Logger.minimumLogLevel(LogLevel.Error))),
      Layer.provide(clockAhead(aheadMs))
    )
  )
  return Effect.provide(runtime)
})

const minuteMs = 60_000
const count = 18

describe("automations on machines whose clocks differ", () => {
  it.scopedLive("each time has one run and one session, and none begins early", () =>
    Effect.gen(function* () {
      const url = yield* migratedPostgresDatabase
      const keyFile = join(yield* temporaryDirectory, "keyring.json")
      const machines = yield* Effect.forEach([0, -3 * minuteMs, 4 * minuteMs], (ahead) =>
        newMachine(url, keyFile, ahead)
      )
      const [first] = machines
      if (first === undefined) return assert.fail("no machine")
      const { add, automations, principal, runsOf, sessionCount } = yield* first(given)
      const soon = Date.now() + 3_000
      const made = yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
        first(add({ trigger: { kind: "once", at: fromMillis(soon + index * 100) } }))
      )
      for (const machine of machines)
        yield* machine(Layer.build(Worker.layer(Effect.all([fireJob, startJob, expireJob]))))
      const isDone = Effect.map(
        Effect.forEach(made, ({ id }) => first(automations.get(principal, id))),
        (all) => all.every(({ state }) => state === "done")
      )
      yield* Effect.repeat(Effect.delay(isDone, "250 millis"), { until: (done) => done })
      for (const { id } of made) {
        const [run, ...others] = yield* first(runsOf(id))
        assert.lengthOf(others, 0)
        assert.deepInclude(run, { state: "waiting", reason: null })
        assert.isAtLeast(Date.parse(run?.started_at ?? ""), Date.parse(run?.due_at ?? ""))
      }
      assert.strictEqual(yield* first(sessionCount), count)
    })
  )
})
