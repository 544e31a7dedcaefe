import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import * as Core from "@reins/core/Core"
import { deadlineJob } from "@reins/core/delegations/DeadlineJob"
import { delegationEndings } from "@reins/core/delegations/DelegationEndings"
import { DelegationResults } from "@reins/core/delegations/DelegationResults"
import { delegationTopic, wakeJobKind } from "@reins/core/delegations/DelegationStore"
import { Delegations } from "@reins/core/delegations/Delegations"
import { waitMessages } from "@reins/core/delegations/WaitMessages"
import { Waits } from "@reins/core/delegations/Waits"
import { wakeJob } from "@reins/core/delegations/WakeJob"
import * as Embedded from "@reins/core/Embedded"
import { EventFeed } from "@reins/core/events/EventFeed"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { JobStore } from "@reins/core/jobs/JobStore"
import * as Worker from "@reins/core/jobs/Worker"
import { Messages } from "@reins/core/sessions/Messages"
import { textOf } from "@reins/core/sessions/rows/Message"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { aMoment } from "@reins/testing/process/Waiting"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases, postgresDatabase } from "@reins/testing/store/Databases"
import { Chunk, Clock, Effect, Fiber, Layer, Stream, TestClock, TestContext, TestServices } from "effect"
import { letRingsThrough } from "../store/Rings.js"
import { begin, delegationEvents, end } from "./Children.js"

const given = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const parent = yield* (yield* Sessions).create(principal, workspaceId, {})
  const { delegation } = yield* (yield* Delegations).spawn(principal, parent.id, {
    role: "tester",
    instructions: "Test it."
  })
  return { principal, workspaceId, parent, delegation, waits: yield* Waits }
})

/** The messages of a session that the service wrote. */
const wakeUps = (principal: Parameters<typeof begin>[0], sessionId: string) =>
  Effect.map(
    Effect.flatMap(Messages, (messages) => messages.list(principal, sessionId, { limit: 200 })),
    ({ items }) => items.filter(({ role }) => role === "system")
  )

const working = Worker.layer(Effect.all([wakeJob, deadlineJob]))

for (const { layer, name } of flowDatabases) {
  describe(`waits on ${name}`, () => {
    it.scopedLive("a wait that is held is answered by the ring of the result alone, and holds nothing meanwhile", () =>
      Effect.gen(function* () {
        const { delegation, principal, waits } = yield* given
        yield* begin(principal, delegation.child_session_id)
        yield* letRingsThrough(delegationTopic(delegation.id))
        const held = 30
        // The clock stands still, so neither a timeout nor the next look at the database can answer the waits.
        const waiting = yield* Effect.gen(function* () {
          const waiting = yield* Effect.forEach(Array.from({ length: held }), () =>
            Effect.fork(waits.wait(principal, delegation.id, { timeout_seconds: 20 }))
          )
          // The test's clock tells nobody of a sleep that begins, so it is asked again and again.
          const sleeps = Effect.zipRight(TestServices.provideLive(Effect.sleep("5 millis")), TestClock.sleeps())
          yield* Effect.repeat(sleeps, {
            until: (found) => Chunk.size(found) === 2 * held
          })
          return waiting
        }).pipe(Effect.provide(TestContext.TestContext))
        // There are more waits than the database has connections, and everything else goes on.
        yield* waits.wait(principal, delegation.id, { timeout_seconds: 0 })
        const submitted = yield* (yield* DelegationResults).submit(principal, delegation.id, {
          kind: "test",
          verdict: "passed",
          summary: "All green."
        })
        const answers = yield* Effect.forEach(waiting, Fiber.join)
        for (const { delegation: ended, result, wait } of answers) {
          assert.deepStrictEqual([wait.state, ended.state, result], ["satisfied", "succeeded", submitted])
        }
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("who may not see the delegation any more when the wait ends is not told of it", () =>
      Effect.gen(function* () {
        const { delegation, principal, waits, workspaceId } = yield* given
        const { run, sql } = yield* Database
        const leaves = run(sql`delete from workspace_members where workspace_id = ${workspaceId}`)
        const refused = yield* Effect.flip(waits.wait(principal, delegation.id, { timeout_seconds: 60 }, leaves))
        assert.strictEqual(refused.code, "not_found")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a wait is pending when its time is over, and tells how a delegation ended at once", () =>
      Effect.gen(function* () {
        const { delegation, parent, principal, waits } = yield* given
        const delegations = yield* Delegations
        const at = yield* Clock.currentTimeMillis
        const pending = yield* waits.wait(principal, delegation.id, { timeout_seconds: 0.2 })
        assert.deepStrictEqual([pending.wait.state, pending.result], ["pending", undefined])
        assert.isAtLeast((yield* Clock.currentTimeMillis) - at, 190)
        const short = yield* waits.wait(principal, delegation.id, { timeout_seconds: 60 }, Effect.void)
        assert.strictEqual(short.wait.state, "pending")
        yield* delegations.cancel(principal, delegation.id)
        assert.strictEqual((yield* waits.wait(principal, delegation.id, {})).wait.state, "cancelled")
        const other = yield* delegations.spawn(principal, parent.id, {
          role: "r",
          instructions: "i",
          deadline_seconds: 1
        })
        yield* (yield* Journal).commit((yield* delegationEndings).expire(other.delegation.id))
        const expired = yield* waits.wait(principal, other.delegation.id, {})
        assert.deepStrictEqual([expired.wait.state, expired.delegation.state], ["expired", "failed"])
        assert.notInclude(
          (yield* delegationEvents(principal, parent.id)).map(({ type }) => type),
          "delegation.wait_satisfied"
        )
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a deadline that passes ends the delegation and wakes the session that delegated", () =>
      Effect.gen(function* () {
        const { parent, principal, waits } = yield* given
        const { delegation } = yield* (yield* Delegations).spawn(principal, parent.id, {
          role: "slow",
          instructions: "Take your time.",
          deadline_seconds: 1
        })
        const waited = yield* waits.wait(principal, delegation.id, { timeout_seconds: 20, wake: "message" })
        assert.deepStrictEqual([waited.wait.state, waited.delegation.reason], ["expired", "deadline_exceeded"])
        yield* (yield* EventFeed).stream(principal, parent.id, { after: 0 }).pipe(
          Stream.takeUntil(({ type }) => type === "delegation.wait_expired"),
          Stream.runDrain
        )
        const [message] = yield* wakeUps(principal, parent.id)
        assert.include(textOf(message?.content ?? []), "deadline")
        assert.isNotNull(message?.turn_id)
      }).pipe(Effect.provide(Layer.provideMerge(working, services(layer))))
    )

    it.scopedLive("asking twice for a message is one wait; it is given up with a cancelled delegation", () =>
      Effect.gen(function* () {
        const { delegation, parent, principal, waits } = yield* given
        const ask = waits.wait(principal, delegation.id, { timeout_seconds: 0, wake: "message" })
        const asked = yield* Effect.all([ask, ask, ask], { concurrency: "unbounded" })
        assert.strictEqual(new Set(asked.map(({ wait }) => wait.id)).size, 1)
        yield* (yield* Delegations).cancel(principal, delegation.id)
        assert.deepStrictEqual(yield* (yield* JobClaims).claim(wakeJobKind, 10, { workerId: "w", bootId: "b" }), [])
        assert.isEmpty(yield* wakeUps(principal, parent.id))
        assert.strictEqual((yield* ask).wait.state, "cancelled")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive(
      "a session whose queue is full is told later, an archived one by a note, a closed one not at all",
      () =>
        Effect.gen(function* () {
          const { delegation, parent, principal, waits, workspaceId } = yield* given
          const messages = yield* Messages
          const sessions = yield* Sessions
          const turns = yield* Turns
          const journal = yield* Journal
          const jobs = yield* JobClaims
          const job = yield* wakeJob
          yield* waits.wait(principal, delegation.id, { timeout_seconds: 0, wake: "message" })
          yield* Effect.forEach(Array.from({ length: defaultLimits.queuedTurns }), () =>
            messages.send(principal, parent.id, { content: "More" })
          )
          yield* begin(principal, delegation.child_session_id)
          yield* end(principal, delegation.child_session_id, "succeeded", "Tested.")
          const [claim] = yield* jobs.claim(wakeJobKind, 1, { workerId: "w", bootId: "b" })
          if (claim === undefined) return yield* Effect.dieMessage("no wake job")
          const attempt = { claim, cancelRequested: Effect.never, commit: journal.commit }
          const full = yield* Effect.flip(job.run(attempt))
          assert.deepInclude(full, { code: "quota_exhausted", retryable: true })
          assert.isEmpty(yield* wakeUps(principal, parent.id))
          const { items } = yield* turns.list(principal, parent.id, { limit: 200 })
          yield* Effect.forEach(items, ({ id }) => turns.cancel(principal, id))
          yield* sessions.archive(principal, parent.id)
          yield* job.run(attempt)
          yield* job.run(attempt)
          const told = yield* wakeUps(principal, parent.id)
          assert.deepStrictEqual(
            told.map(({ content, routing, turn_id }) => [textOf(content).includes("Tested."), routing, turn_id]),
            [[true, "note", null]]
          )

          const closing = yield* sessions.create(principal, workspaceId, {})
          const last = yield* (yield* Delegations).spawn(principal, closing.id, { role: "r", instructions: "i" })
          yield* waits.wait(principal, last.delegation.id, { timeout_seconds: 0, wake: "message" })
          yield* begin(principal, last.delegation.child_session_id)
          yield* end(principal, last.delegation.child_session_id, "succeeded", "Tested.")
          const [late] = yield* jobs.claim(wakeJobKind, 1, { workerId: "w", bootId: "b" })
          if (late === undefined) return yield* Effect.dieMessage("no wake job")
          yield* sessions.close(principal, closing.id)
          yield* job.run({ claim: late, cancelRequested: Effect.never, commit: journal.commit })
          assert.isEmpty(yield* wakeUps(principal, closing.id))
        }).pipe(Effect.provide(services(layer)))
    )
  })
}

/** The same installation after a restart: other services, another boot, the same database and data. */
const boot = (dataDir: string, database: Layer.Layer<Database | Bell>) =>
  Core.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(CoreConfig.layer({ dataDir, executors: ["local"], prewarm: false }), database, Boot.layerSingle)
    ),
    Layer.provide(PasswordCost.layerTest)
  )

const restartable = [
  {
    name: "SQLite",
    database: (dataDir: string) => Effect.succeed(Layer.orDie(Layer.provideMerge(Sqlite.layer(dataDir), Bell.layer)))
  },
  { name: "PostgreSQL", database: () => Effect.map(postgresDatabase, (url) => Layer.orDie(Postgres.layer(url))) }
].filter(({ name }) => flowDatabases.some((row) => row.name === name))

for (const { database, name } of restartable) {
  for (const died of ["before it posted the message", "after it posted the message"] as const) {
    it.scopedLive(`the message of a wait is posted exactly once on ${name}, also when the service died ${died}`, () =>
      Effect.gen(function* () {
        const dataDir = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-test-"))),
          (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
        )
        const opened = yield* database(dataDir)
        const { delegation, parent, waitId } = yield* Effect.gen(function* () {
          const { delegation, parent, principal, waits } = yield* given
          const { wait } = yield* waits.wait(principal, delegation.id, { timeout_seconds: 0, wake: "message" })
          yield* begin(principal, delegation.child_session_id)
          yield* end(principal, delegation.child_session_id, "succeeded", "Tested.")
          yield* (yield* JobClaims).claim(wakeJobKind, 1, { workerId: "dead", bootId: "dead" })
          if (died === "after it posted the message")
            yield* (yield* Journal).commit((yield* waitMessages).deliver(wait.id, "queue"))
          return { delegation, parent, waitId: wait.id }
        }).pipe(Effect.provide(boot(dataDir, opened)))

        for (const _ of ["the next boot", "the one after it"]) {
          yield* Effect.gen(function* () {
            const { principal } = yield* Embedded.owner
            const jobs = yield* JobStore
            yield* (yield* EventFeed).stream(principal, parent.id, { after: 0 }).pipe(
              Stream.takeUntil(({ type }) => type === "delegation.wait_satisfied"),
              Stream.runDrain
            )
            const ended = Effect.map(jobs.newestOf(waitId), ({ state }) => state === "succeeded")
            yield* Effect.repeat(Effect.zipRight(aMoment, ended), { until: (over) => over })
            const told = yield* wakeUps(principal, parent.id)
            assert.strictEqual(told.length, 1)
            assert.include(textOf(told[0]?.content ?? []), delegation.id)
            assert.include(textOf(told[0]?.content ?? []), "Tested.")
            assert.isNotNull(told[0]?.turn_id)
            assert.deepStrictEqual(told[0]?.author, { kind: "system", id: "delegations" })
            const satisfied = (yield* delegationEvents(principal, parent.id)).filter(
              ({ type }) => type === "delegation.wait_satisfied"
            )
            assert.deepStrictEqual(
              satisfied.map(({ payload }) => payload),
              [{ wait_id: waitId, message_id: told[0]?.id }]
            )
          }).pipe(Effect.provide(Layer.provideMerge(working, boot(dataDir, opened))))
        }
      })
    )
  }
}
