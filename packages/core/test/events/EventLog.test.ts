import { assert, describe, it, layer as layerOf } from "@effect/vitest"
import { parseEventTypes } from "@reins/core/Events"
import { EventLog } from "@reins/core/events/EventLog"
import { Database } from "@reins/core/store/Database"
import { eventsWanted, wantedOf } from "@reins/core/store/SessionLog"
import { sliceOf } from "@reins/core/store/Slices"
import { faultsOf } from "@reins/testing/Faults"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { append, events, newSession } from "./Sessions.js"

for (const { layer, name } of databases) {
  describe(`EventLog on ${name}`, () => {
    layerOf(events(layer), { excludeTestServices: true })((it) => {
      it.effect("pages give every event once and in order, and next_after ends at the watermark", () =>
        Effect.gen(function* () {
          const log = yield* EventLog
          const { principal, sessionId } = yield* newSession
          yield* append(sessionId, [1, 2, 3, 4, 5, 6, 7])
          const seen: Array<number> = []
          let after = 0
          for (let more = true; more; ) {
            const page = yield* log.page(principal, sessionId, { after, limit: 3 })
            assert.strictEqual(page.event_watermark, 7)
            seen.push(...page.items.map((event) => event.seq))
            after = page.next_after
            more = page.has_more
          }
          assert.deepStrictEqual(seen, [1, 2, 3, 4, 5, 6, 7])
          assert.strictEqual(after, 7)
          assert.deepStrictEqual(yield* log.page(principal, sessionId, { after, limit: 3 }), {
            items: [],
            next_after: 7,
            has_more: false,
            event_watermark: 7
          })
        })
      )

      it.effect("of large events a reader is given few at once, and a page holds no more than it can", () =>
        Effect.gen(function* () {
          const log = yield* EventLog
          const { principal, sessionId } = yield* newSession
          const megabyte = "é".repeat(512 * 1024)
          yield* Effect.forEach([1, 2, 3, 4, 5], (index) => append(sessionId, [2 * index - 1, 2 * index], megabyte))
          const seen: Array<number> = []
          for (let isWhole = false; !isWhole; ) {
            const slice = yield* log.read(sessionId, seen.length, 500)
            assert.strictEqual(slice.events.length, 1)
            seen.push(...slice.events.map(({ seq }) => seq))
            isWhole = slice.isWhole
          }
          assert.deepStrictEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
          const first = yield* log.page(principal, sessionId, { limit: 1000 })
          assert.deepStrictEqual([first.items.length, first.next_after, first.has_more], [8, 8, true])
          const second = yield* log.page(principal, sessionId, { after: first.next_after, limit: 1000 })
          assert.deepStrictEqual([second.items.length, second.next_after, second.has_more], [2, 10, false])
        })
      )

      it.effect("a filtered page reads on beyond what it leaves out", () =>
        Effect.gen(function* () {
          const log = yield* EventLog
          const { principal, sessionId } = yield* newSession
          yield* append(sessionId, [1, 2, 3])
          const types = yield* parseEventTypes("turn.*,session.closed")
          assert.deepStrictEqual(yield* log.page(principal, sessionId, { types, limit: 10 }), {
            items: [],
            next_after: 3,
            has_more: false,
            event_watermark: 3
          })
          const own = yield* log.page(principal, sessionId, {
            types: yield* parseEventTypes("diagnostic.reported"),
            limit: 2
          })
          assert.deepStrictEqual(
            own.items.map((event) => event.payload.line),
            ["1", "2"]
          )
          assert.isTrue(own.has_more)
        })
      )

      it.effect("a page is found by the key of the log, so that its cost does not depend on how long the log is", () =>
        Effect.gen(function* () {
          const { all, dialect, run, sql, transaction } = yield* Database
          const { sessionId } = yield* newSession
          const statement = sliceOf(
            sql,
            eventsWanted(sql, wantedOf(sql, sessionId, 3, {}), { events: 100, bytes: 1000 })
          )
          const plan =
            dialect === "sqlite"
              ? yield* all(sql`explain query plan ${statement}`)
              : yield* transaction(
                  // A small table is read whole, or by a bitmap, where nothing forbids it.
                  run(sql`set local enable_seqscan = off`).pipe(
                    Effect.zipRight(run(sql`set local enable_bitmapscan = off`)),
                    Effect.zipRight(all(sql`explain ${statement}`))
                  )
                )
          const text = JSON.stringify(plan)
          if (dialect === "sqlite") {
            assert.match(text, /SEARCH events USING INDEX \w+ \(session_id=\? AND seq>\?\)/)
            assert.notMatch(text, /SCAN events/)
          } else {
            assert.match(text, /Index Scan using events_pkey on events/)
            assert.match(text, /Index Cond: \(\(session_id = [^)]*\) AND \(seq > 3\)\)/)
            assert.notMatch(text, /Seq Scan/)
          }
        })
      )

      it.effect("a page as it is stored holds what a page holds", () =>
        Effect.gen(function* () {
          const log = yield* EventLog
          const { principal, sessionId } = yield* newSession
          yield* append(sessionId, [1, 2, 3, 4])
          // At a limit of 1000 this one is larger than its share of a page, and at a limit of 2 it is not.
          yield* append(sessionId, [5], "x".repeat(9000))
          yield* append(sessionId, [6])
          for (const [after, limit, wanted, has_more] of [
            [1, 2, [2, 3], true],
            [0, 1000, [1, 2, 3, 4, 5, 6], false],
            [4, 2, [5, 6], false],
            [3, 2, [4, 5], true],
            [6, 2, [], false]
          ] as const) {
            const { items: text, ...stored } = yield* log.storedPage(principal, sessionId, { after, limit })
            const { items, ...page } = yield* log.page(principal, sessionId, { after, limit })
            assert.deepStrictEqual(stored, page)
            assert.deepStrictEqual([items.map(({ seq }) => seq), page.has_more], [wanted, has_more])
            assert.strictEqual(text, items.map((event) => JSON.stringify(event)).join(","))
          }
        })
      )

      it.effect("a cursor that is negative or beyond the newest event is invalid_cursor", () =>
        Effect.gen(function* () {
          const log = yield* EventLog
          const { principal, sessionId } = yield* newSession
          yield* append(sessionId, [1, 2])
          for (const after of [-1, 3, 0.5, Number.POSITIVE_INFINITY]) {
            const error = yield* Effect.flip(log.page(principal, sessionId, { after, limit: 10 }))
            assert.strictEqual(error.code, "invalid_cursor", String(after))
          }
        })
      )

      it.effect("the session of somebody else is not found", () =>
        Effect.gen(function* () {
          const log = yield* EventLog
          const { sessionId } = yield* newSession
          const { principal } = yield* newSession
          for (const id of [sessionId, "sess_nothing", ""]) {
            assert.strictEqual((yield* Effect.flip(log.page(principal, id, { limit: 10 }))).code, "not_found")
          }
        })
      )
    })
  })
}

describe("parseEventTypes", () => {
  it.effect("reads names and prefixes", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* parseEventTypes(undefined))
      assert.deepStrictEqual(
        [...((yield* parseEventTypes("tool.*, session.closed")) ?? [])],
        ["tool.started", "tool.updated", "tool.completed", "session.closed"]
      )
    })
  )

  it.effect("refuses what is no event type, at query.types", () =>
    Effect.gen(function* () {
      for (const text of ["nonsense", "turn.*,x", "", "turn", "*", "turn.started,", ".*"]) {
        const error = yield* Effect.flip(parseEventTypes(text))
        const [detail] = faultsOf(error)
        assert.deepStrictEqual(detail?.loc, ["query", "types"])
        assert.strictEqual(error.input, text)
      }
    })
  )
})
