import { assert, layer as withLayer } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog } from "@reins/core/events/EventLog"
import { EventRetention } from "@reins/core/events/EventRetention"
import { WorkspaceEvents } from "@reins/core/events/WorkspaceEvents"
import { WorkspaceFeed } from "@reins/core/events/WorkspaceFeed"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Fiber, Layer, Stream, TestClock } from "effect"
import { append, appendUsage, events, newSession } from "./Sessions.js"

const retention = (eventRetentionDays: number | null) =>
  Layer.provide(EventRetention.layer, CoreConfig.layer({ dataDir: "/nonexistent", limits: { eventRetentionDays } }))

const purge = Effect.flatMap(EventRetention, ({ purge }) => purge)

const close = (id: SessionId) =>
  Effect.flatMap(Database, ({ run, sql }) => run(sql`update sessions set lifecycle = 'closed' where id = ${id}`))

const countOf = (id: SessionId) =>
  Effect.map(
    Effect.flatMap(Database, ({ all, sql }) => all(sql`select seq from events where session_id = ${id}`)),
    (rows) => rows.length
  )

for (const { layer, name } of flowDatabases) {
  withLayer(Layer.provideMerge(retention(30), events(layer)))(`event retention on ${name}`, (it) => {
    it.effect("deletes the events of a closed session 30 days after the last of them, and of no open one", () =>
      Effect.gen(function* () {
        const open = yield* newSession
        const closed = yield* newSession
        for (const { sessionId } of [open, closed]) yield* append(sessionId, [1, 2, 3])
        yield* close(closed.sessionId)
        yield* TestClock.adjust("29 days")
        yield* append(closed.sessionId, [4])
        yield* TestClock.adjust("29 days")
        yield* purge
        assert.strictEqual(yield* countOf(closed.sessionId), 4)
        yield* TestClock.adjust("2 days")
        yield* purge
        assert.deepStrictEqual([yield* countOf(closed.sessionId), yield* countOf(open.sessionId)], [0, 3])
      })
    )

    it.effect("deletes the event that tells of a deleted session, 30 days after the deletion", () =>
      Effect.gen(function* () {
        const { all, run, sql } = yield* Database
        const { sessionId, workspaceId } = yield* newSession
        const [kept] = [yield* newSession]
        yield* append(sessionId, [1])
        yield* append(kept.sessionId, [1])
        yield* run(
          sql`insert into session_deletions ${sql.insert({
            session_id: sessionId,
            workspace_id: workspaceId,
            deleted_with: null,
            deleted_by: "{}",
            state: "deleted",
            operation_id: "op",
            job_id: "job",
            requested_at: yield* now,
            finished_at: yield* now
          })}`
        )
        yield* run(sql`delete from sessions where id = ${sessionId}`)
        yield* TestClock.adjust("29 days")
        yield* purge
        assert.strictEqual(yield* countOf(sessionId), 1)
        yield* TestClock.adjust("2 days")
        yield* purge
        assert.deepStrictEqual([yield* countOf(sessionId), yield* countOf(kept.sessionId)], [0, 1])
        const listed = yield* all(sql`select seq from workspace_events where session_id = ${sessionId}`)
        assert.deepStrictEqual(listed, [])
      })
    )

    if (name === "PostgreSQL")
      it.effect("an event leaves the indexes of the row of its session as they are", () =>
        Effect.gen(function* () {
          const { sessionId } = yield* newSession
          const db = yield* Database
          const updates = Effect.map(
            db.first(db.sql<{ made: number; hot: number }>`select
              cast(pg_stat_get_xact_tuples_updated('sessions'::regclass) as integer) as made,
              cast(pg_stat_get_xact_tuples_hot_updated('sessions'::regclass) as integer) as hot`),
            (row) => row ?? { made: 0, hot: 0 }
          )
          const journal = yield* Journal
          const { after, before } = yield* journal.commit(
            Effect.gen(function* () {
              const before = yield* updates
              yield* journal.append(sessionId, { kind: "system", id: "test" }, [
                { type: "diagnostic.reported", payload: { kind: "test", line: "x" } }
              ])
              return { before, after: yield* updates }
            })
          )
          assert.deepStrictEqual([after.made - before.made, after.hot - before.hot], [1, 1])
        })
      )

    it.effect("lets nobody read on from below what is kept, and tells where to go on", () =>
      Effect.gen(function* () {
        const { principal, sessionId } = yield* newSession
        const log = yield* EventLog
        const feed = yield* EventFeed
        yield* append(sessionId, [1, 2, 3])
        yield* close(sessionId)
        yield* TestClock.adjust("31 days")
        yield* purge
        for (const after of [undefined, 0, 2]) {
          const page = yield* Effect.flip(log.page(principal, sessionId, { after, limit: 10 }))
          const stream = yield* Effect.flip(Stream.runHead(feed.stream(principal, sessionId, { after })))
          for (const error of [page, stream]) {
            assert.deepStrictEqual([error.status, error.code], [410, "history_reset_required"])
            assert.deepStrictEqual(error.details, { after: after ?? 0, first_event_seq: 4, next_after: 3 })
            assert.include(error.message, "after=3")
          }
        }
        const empty = yield* log.page(principal, sessionId, { after: 3, limit: 10 })
        assert.deepStrictEqual(empty, { items: [], next_after: 3, has_more: false, event_watermark: 3 })
        yield* append(sessionId, [4])
        yield* purge
        const fresh = yield* log.page(principal, sessionId, { after: 3, limit: 10 })
        assert.deepStrictEqual(
          fresh.items.map(({ seq }) => seq),
          [4]
        )
        assert.strictEqual((yield* Effect.flip(log.page(principal, sessionId, { after: 5, limit: 1 }))).status, 400)
      })
    )

    it.effect("that happens while pages are read leaves each of them whole or refused, and none empty", () =>
      Effect.gen(function* () {
        const { principal, sessionId } = yield* newSession
        const log = yield* EventLog
        const seqs = Array.from({ length: 20 }, (_, index) => index + 1)
        yield* append(sessionId, seqs)
        yield* close(sessionId)
        yield* TestClock.adjust("31 days")
        const read = log.page(principal, sessionId, { after: 0, limit: 100 }).pipe(
          Effect.map(({ items }) => items.length),
          Effect.catchAll(({ code }) => Effect.succeed(code))
        )
        const reading = yield* Effect.fork(Effect.replicateEffect(read, 300, { concurrency: 20 }))
        yield* Effect.yieldNow()
        yield* purge
        const answers = new Set(yield* Fiber.join(reading))
        answers.delete(20)
        assert.isTrue(answers.size === 0 || (answers.size === 1 && answers.has("history_reset_required")))
        assert.strictEqual(yield* read, "history_reset_required")
      })
    )

    it.effect("takes from the stream of a workspace what is older, whatever became of its sessions", () =>
      Effect.gen(function* () {
        const { principal, sessionId, workspaceId } = yield* newSession
        const log = yield* WorkspaceEvents
        const feed = yield* WorkspaceFeed
        yield* appendUsage(sessionId, [1, 2])
        yield* log.keepUp
        yield* TestClock.adjust("20 days")
        yield* appendUsage(sessionId, [3])
        yield* log.keepUp
        yield* purge
        assert.lengthOf((yield* log.page(principal, workspaceId, { limit: 10 })).items, 3)
        yield* TestClock.adjust("11 days")
        yield* purge
        const kept = yield* log.page(principal, workspaceId, { limit: 10 })
        assert.deepStrictEqual(
          kept.items.map(({ position }) => position),
          [3]
        )
        for (const after of [0, 1]) {
          const page = yield* Effect.flip(log.page(principal, workspaceId, { after, limit: 10 }))
          const stream = yield* Effect.flip(Stream.runHead(feed.stream(principal, workspaceId, { after })))
          for (const error of [page, stream]) {
            assert.deepStrictEqual([error.status, error.code], [410, "history_reset_required"])
            assert.deepStrictEqual(error.details, { after, first_event_seq: 3, next_after: 2 })
          }
        }
        // A reader that was on its way when the events went is given nothing, rather than a gap.
        assert.deepStrictEqual(yield* log.read(workspaceId, 1, 10), { events: [], isWhole: true })
        yield* TestClock.adjust("31 days")
        yield* purge
        assert.deepStrictEqual(yield* log.ends(workspaceId), { head: 3, first_position: 4 })
        yield* appendUsage(sessionId, [4])
        const fresh = yield* log.page(principal, workspaceId, { after: 3, limit: 10 })
        assert.deepStrictEqual(
          fresh.items.map(({ position }) => position),
          [4]
        )
      })
    )

    it.effect("takes each closed session by itself, and may be repeated", () =>
      Effect.gen(function* () {
        const sessions = yield* Effect.replicateEffect(newSession, 3)
        const db = yield* Database
        for (const { sessionId } of sessions) {
          yield* append(sessionId, [1])
          yield* close(sessionId)
        }
        yield* TestClock.adjust("31 days")
        const first = yield* newSession
        yield* append(first.sessionId, [1])
        yield* close(first.sessionId)
        yield* purge
        yield* purge
        const left = yield* db.all(db.sql`select distinct session_id from events`)
        assert.include(JSON.stringify(left), first.sessionId)
        for (const { sessionId } of sessions) assert.notInclude(JSON.stringify(left), sessionId)
      })
    )
  })

  withLayer(Layer.provideMerge(retention(null), events(layer)))(`event retention without a limit on ${name}`, (it) => {
    it.effect("keeps everything for ever", () =>
      Effect.gen(function* () {
        const { principal, sessionId } = yield* newSession
        yield* append(sessionId, [1])
        yield* close(sessionId)
        yield* TestClock.adjust("36500 days")
        yield* purge
        assert.lengthOf((yield* (yield* EventLog).page(principal, sessionId, { limit: 10 })).items, 1)
      })
    )
  })
}
