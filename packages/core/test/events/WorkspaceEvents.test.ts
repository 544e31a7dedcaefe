import { assert, describe, layer as layerOf } from "@effect/vitest"
import type { Event } from "@reins/base/domain/Event"
import type { SessionId } from "@reins/base/domain/Ids"
import { parseWorkspaceTypes } from "@reins/core/Events"
import { WorkspaceEvents } from "@reins/core/events/WorkspaceEvents"
import { WorkspaceFeed } from "@reins/core/events/WorkspaceFeed"
import { noUsage } from "@reins/core/sessions/rows/Session"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { aMoment } from "@reins/testing/process/Waiting"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Chunk, Clock, Deferred, Effect, Fiber, Stream } from "effect"
import { addSession, append, appendUsage, events, newSession } from "./Sessions.js"

/** Waits until the clock shows another time, so that what comes next has a later one. */
const nextMillisecond = Effect.flatMap(Clock.currentTimeMillis, (at) =>
  Effect.repeat(Effect.zipRight(aMoment, Clock.currentTimeMillis), { until: (time) => time > at })
)

const numbersTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

/** The `seq` of the events of each session, in the order in which they came. */
const bySession = (seen: ReadonlyArray<Event>): Record<string, Array<number>> => {
  const found: Record<string, Array<number>> = {}
  for (const { seq, session_id } of seen) found[session_id] = [...(found[session_id] ?? []), seq]
  return found
}

const updated = (sessionId: SessionId) =>
  Effect.flatMap(Journal, (journal) =>
    journal.commit(
      journal.append(sessionId, { kind: "system", id: "test" }, [
        {
          type: "session.updated",
          payload: {
            lifecycle: "open",
            title: null,
            labels: {},
            harness: { provider_id: "alpha", model: null },
            version: 2
          }
        }
      ])
    )
  )

for (const { layer, name } of flowDatabases) {
  describe(`WorkspaceEvents on ${name}`, () => {
    layerOf(events(layer), { excludeTestServices: true })((it) => {
      it.effect("pages give what a list of sessions needs, of all sessions of the workspace and of no other one", () =>
        Effect.gen(function* () {
          const log = yield* WorkspaceEvents
          const { principal, sessionId, workspaceId } = yield* newSession
          const other = yield* newSession
          const second = yield* addSession(workspaceId)
          yield* append(sessionId, [1, 2])
          yield* appendUsage(sessionId, [3, 4])
          yield* appendUsage(other.sessionId, [1])
          yield* appendUsage(second, [1])
          const seen: Array<readonly [number, string, number]> = []
          let after: number | undefined
          for (let more = true; more; ) {
            const page = yield* log.page(principal, workspaceId, { after, limit: 2 })
            assert.strictEqual(page.event_watermark, 3)
            seen.push(...page.items.map(({ event, position }) => [position, event.session_id, event.seq] as const))
            after = page.next_after
            more = page.has_more
          }
          assert.deepStrictEqual(seen, [
            [1, sessionId, 3],
            [2, sessionId, 4],
            [3, second, 1]
          ])
          assert.strictEqual(
            (yield* Effect.flip(log.page(other.principal, workspaceId, { limit: 1 }))).code,
            "not_found"
          )
          for (const wrong of [-1, 4, 0.5]) {
            const refused = yield* Effect.flip(log.page(principal, workspaceId, { after: wrong, limit: 1 }))
            assert.strictEqual(refused.code, "invalid_cursor")
          }
        })
      )

      it.effect("a filter picks by type, project and label, the same from the log and live", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const log = yield* WorkspaceEvents
          const feed = yield* WorkspaceFeed
          const { principal, sessionId, workspaceId } = yield* newSession
          const odd = `it's "5%" é`
          const red = yield* addSession(workspaceId, { colour: "red", [odd]: odd })
          const blue = yield* addSession(workspaceId, { colour: "blue", red: "colour" })
          const at = new Date().toISOString()
          const projectId = `prj_of_${workspaceId}`
          yield* db.run(
            db.sql`insert into projects ${db.sql.insert({ id: projectId, workspace_id: workspaceId, slug: "p", name: "p", version: 1, created_at: at, updated_at: at })}`
          )
          yield* db.run(db.sql`update sessions set project_id = ${projectId} where id = ${sessionId}`)
          const filters = [
            { label: { name: "colour", value: "red" } },
            { label: { name: odd, value: odd } },
            { projectId },
            { projectId, label: { name: "colour", value: "red" } },
            { types: yield* parseWorkspaceTypes("session.*") },
            { types: yield* parseWorkspaceTypes("usage.*"), label: { name: "colour", value: "blue" } }
          ]
          const live = yield* Effect.forEach(filters, (filter) =>
            Effect.gen(function* () {
              const seen: Array<number> = []
              const done = yield* Deferred.make<void>()
              const subscription = yield* feed.subscribe(
                principal,
                workspaceId,
                { ...filter, batch: 10 },
                (frames, cursor) => {
                  seen.push(...frames.map(({ event }) => event.seq))
                  if (cursor === 6) Deferred.unsafeDone(done, Effect.void)
                  return true
                }
              )
              subscription.resume()
              return Effect.as(Deferred.await(done), { close: subscription.close, seen })
            })
          )
          // Events of one millisecond have no order among sessions before they have positions.
          const positioned = (last: number) =>
            Effect.repeat(log.page(principal, workspaceId, { limit: 10 }), {
              until: ({ next_after }) => next_after === last
            })
          const steps = [(id: SessionId) => appendUsage(id, [1]), updated].flatMap((step) =>
            [sessionId, red, blue].map((id) => step(id))
          )
          for (const [index, step] of steps.entries()) yield* Effect.zipRight(step, positioned(index + 1))
          const expected = [[2, 4, 5, 6], [2, 4, 5, 6], [1, 4], [4], [4, 5, 6], [3]]
          for (const [index, filter] of filters.entries()) {
            const page = yield* log.page(principal, workspaceId, { ...filter, limit: 10 })
            assert.deepStrictEqual(
              page.items.map(({ position }) => position),
              expected[index]
            )
            assert.deepStrictEqual([page.next_after, page.has_more], [6, false])
            const reader = yield* live[index] ?? Effect.dieMessage("no reader")
            assert.deepStrictEqual(reader.seen, expected[index])
            reader.close()
          }
        })
      )

      it.effect(
        "many writers at once and readers that come, leave and resume: no gap, no repeat, sessions in order",
        () =>
          Effect.gen(function* () {
            const feed = yield* WorkspaceFeed
            const log = yield* WorkspaceEvents
            const journal = yield* Journal
            const { principal, workspaceId } = yield* newSession
            const sessions = yield* Effect.replicateEffect(addSession(workspaceId), 12)
            const commits = 30
            const total = sessions.length * commits
            // Transactions of many lengths, so that they end in another order than they begin.
            const write = (sessionId: SessionId, number: number) =>
              journal.commit(
                Effect.gen(function* () {
                  yield* journal.append(sessionId, { kind: "system", id: "test" }, [
                    {
                      type: "usage.observed",
                      payload: { usage: { ...noUsage, input_tokens: number }, context_used: null, context_size: null }
                    }
                  ])
                  yield* Effect.forEach(numbersTo(number % 4), () => journal.held(sessionId), { discard: true })
                })
              )
            const writer = yield* Effect.fork(
              Effect.forEach(
                sessions,
                (sessionId) =>
                  Effect.forEach(numbersTo(commits), (number) => write(sessionId, number), { discard: true }),
                { concurrency: "unbounded", discard: true }
              )
            )
            const reader = (step: number) =>
              Effect.gen(function* () {
                const seen: Array<{ readonly position: number; readonly event: Event }> = []
                while (seen.length < total) {
                  const most = Math.min(step, total - seen.length)
                  const request = { after: seen.at(-1)?.position }
                  const some = yield* Stream.runCollect(Stream.take(feed.stream(principal, workspaceId, request), most))
                  seen.push(...Chunk.toReadonlyArray(some))
                }
                return seen
              })
            const all = yield* Effect.forEach([7, 31, total], reader, { concurrency: "unbounded" })
            yield* Fiber.join(writer)
            for (const seen of all) {
              assert.deepStrictEqual(
                seen.map(({ position }) => position),
                numbersTo(total)
              )
              assert.deepStrictEqual(seen, all[0])
              const found = bySession(seen.map(({ event }) => event))
              for (const id of sessions) assert.deepStrictEqual(found[id], numbersTo(commits))
            }
            assert.deepStrictEqual(yield* log.ends(workspaceId), { head: total, first_position: 1 })
          })
      )

      it.effect("what nobody has read gets its positions by time, and sessions keep their order", () =>
        Effect.gen(function* () {
          const log = yield* WorkspaceEvents
          const { principal, sessionId, workspaceId } = yield* newSession
          const second = yield* addSession(workspaceId)
          yield* appendUsage(sessionId, [1, 2])
          yield* nextMillisecond
          yield* appendUsage(second, [1])
          yield* nextMillisecond
          yield* appendUsage(sessionId, [3])
          yield* log.keepUp
          yield* log.keepUp
          const { items } = yield* log.page(principal, workspaceId, { limit: 10 })
          assert.deepStrictEqual(
            items.map(({ event, position }) => [position, event.session_id, event.seq]),
            [
              [1, sessionId, 1],
              [2, sessionId, 2],
              [3, second, 1],
              [4, sessionId, 3]
            ]
          )
        })
      )

      it.effect("a page is found by the position, so that its cost does not depend on how long the log is", () =>
        Effect.gen(function* () {
          const { all, dialect, sql } = yield* Database
          if (dialect !== "sqlite") return
          const plan = yield* all(sql`explain query plan select workspace_events.position as seq from workspace_events
            cross join events cross join sessions where workspace_events.workspace_id = 'w' and
            workspace_events.position > 3 and events.session_id = workspace_events.session_id and
            events.seq = workspace_events.seq and sessions.id = workspace_events.session_id order by seq limit 5`)
          const text = JSON.stringify(plan)
          assert.match(text, /SEARCH workspace_events USING INDEX workspace_events_position/)
          assert.notMatch(text, /SCAN|TEMP B-TREE/)
        })
      )
    })
  })
}
