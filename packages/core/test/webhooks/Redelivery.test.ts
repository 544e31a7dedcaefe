import { assert, describe, layer as layerOf } from "@effect/vitest"
import { fromNow, Timestamp } from "@reins/base/domain/Timestamp"
import { Database } from "@reins/core/store/Database"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { addSession, appendUsage } from "../events/Sessions.js"
import { eventually, firsts, newEndpoint, sending, services, verified } from "./Endpoints.js"

const hourMs = 3_600_000

for (const { layer, name } of flowDatabases) {
  describe(`What people have delivered, on ${name}`, () => {
    layerOf(services(layer), { excludeTestServices: true })((it) => {
      it.scoped(
        "a test is signed like any other delivery, has one attempt, and its failure is none of the endpoint's",
        () =>
          Effect.gen(function* () {
            const { endpoint, principal, receiver, webhooks, workspaceId } = yield* newEndpoint({ types: ["turn.*"] })
            const test = yield* webhooks.test(principal, endpoint.id)
            assert.deepInclude(test, { type: "webhook.test", session_id: null, seq: null, position: null })
            const done = yield* eventually(webhooks.delivery(principal, test.id), ({ state }) => state !== "pending")
            assert.deepInclude(done, { state: "succeeded", attempt_count: 1 })
            assert.deepInclude(done.attempts[0], { status: 204, error: null })
            const [first] = receiver.received
            if (first === undefined) return assert.fail("nothing came")
            assert.strictEqual(first.id, test.event_id)
            assert.deepStrictEqual(Object(verified(endpoint.secret, first)), {
              type: "webhook.test",
              timestamp: test.created_at,
              position: null,
              data: {
                id: test.event_id,
                type: "webhook.test",
                workspace_id: workspaceId,
                webhook_endpoint_id: endpoint.id,
                recorded_at: test.created_at
              }
            })
            receiver.answer = (response) => response.writeHead(410).end("gone")
            const { id } = yield* webhooks.test(principal, endpoint.id)
            const failed = yield* eventually(webhooks.delivery(principal, id), ({ state }) => state !== "pending")
            assert.deepInclude(failed, { state: "failed", attempt_count: 1, retry_at: null })
            assert.deepInclude(failed.attempts[0], { status: 410, answer: "gone" })
            assert.deepInclude(yield* webhooks.get(principal, endpoint.id), { state: "enabled", failing_since: null })
            yield* webhooks.retry(principal, id)
            yield* eventually(webhooks.delivery(principal, id), ({ attempts }) => attempts.length === 2)
            yield* webhooks.update(principal, endpoint.id, { state: "disabled" })
            const refused = yield* Effect.flip(webhooks.test(principal, endpoint.id))
            assert.strictEqual(refused.code, "invalid_transition")
          }).pipe(Effect.provide(sending))
      )

      it.scoped("a test leaves before what waits, and one that gets through ends the waits of the rest", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
          receiver.answer = (response) => response.writeHead(500).end()
          yield* appendUsage(sessionId, [1, 2])
          const { items } = yield* eventually(webhooks.deliveries(principal, endpoint.id, {}), (page) =>
            page.items.some(({ retry_at }) => retry_at !== null)
          )
          yield* db.run(
            db.sql`update webhook_endpoints set failing_since = ${yield* fromNow(-hourMs)} where id = ${endpoint.id}`
          )
          yield* db.run(
            db.sql`update webhook_deliveries set retry_at = ${yield* fromNow(3 * hourMs)} where id = ${items.at(-1)?.id ?? ""}`
          )
          receiver.answer = (response) => response.writeHead(200).end()
          yield* webhooks.test(principal, endpoint.id)
          yield* receiver.until(({ length }) => length === 4)
          assert.deepStrictEqual(
            receiver.received.map(({ type }) => type),
            ["usage.observed", "webhook.test", "usage.observed", "usage.observed"]
          )
        }).pipe(Effect.provide(sending))
      )

      it.scoped("a slow endpoint is soon sent a test, in the midst of what waits", () =>
        Effect.gen(function* () {
          const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
          // The slowness of the endpoint is what is tested.
          receiver.answer = (response) => setTimeout(() => response.writeHead(200).end(), 400)
          yield* webhooks.update(principal, endpoint.id, { state: "disabled" })
          yield* appendUsage(
            sessionId,
            Array.from({ length: 100 }, (_, index) => index)
          )
          yield* webhooks.update(principal, endpoint.id, { state: "enabled" })
          yield* receiver.until(({ length }) => length === 1)
          yield* webhooks.test(principal, endpoint.id)
          yield* receiver.until((received) => received.some(({ type }) => type === "webhook.test"))
          assert.isBelow(receiver.received.length, 50)
        }).pipe(Effect.provide(sending))
      )

      it.scoped("what an endpoint refuses while it takes the rest keeps to its back-off", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const { endpoint, principal, receiver, sessionId, webhooks, workspaceId } = yield* newEndpoint()
          const other = yield* addSession(workspaceId)
          receiver.answer = (response, { sessionId: of }) => response.writeHead(of === sessionId ? 500 : 200).end()
          yield* appendUsage(sessionId, [1])
          const { items } = yield* eventually(webhooks.deliveries(principal, endpoint.id, {}), (page) =>
            page.items.some(({ retry_at }) => retry_at !== null)
          )
          const id = items[0]?.id ?? ""
          const retryAt = yield* fromNow(hourMs)
          yield* db.run(db.sql`update webhook_deliveries set retry_at = ${retryAt} where id = ${id}`)
          yield* appendUsage(other, [1, 2])
          yield* eventually(webhooks.get(principal, endpoint.id), ({ pending }) => pending === 1)
          assert.deepInclude(yield* webhooks.delivery(principal, id), { retry_at: retryAt, attempt_count: 1 })
          // Whoever turns it off and on again wants it tried.
          yield* webhooks.update(principal, endpoint.id, { state: "disabled" })
          yield* webhooks.update(principal, endpoint.id, { state: "enabled" })
          yield* eventually(webhooks.delivery(principal, id), ({ attempt_count }) => attempt_count === 2)
        }).pipe(Effect.provide(sending))
      )

      it.scoped("what has failed in a time comes again in the order of each session, with all of its attempts", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const { endpoint, principal, receiver, sessionId, webhooks, workspaceId } = yield* newEndpoint()
          const other = yield* addSession(workspaceId)
          yield* appendUsage(sessionId, [1, 2, 3, 4])
          yield* appendUsage(other, [1])
          const allOf = webhooks.deliveries(principal, endpoint.id, { state: "succeeded", limit: 10 })
          const { items } = yield* eventually(allOf, (page) => page.items.length === 5)
          const atDay = (day: number) => Timestamp.make(`2026-01-0${day}T00:00:00.000Z`)
          // Three of them failed once, all attempts used up, on the first, the second and the third day.
          for (const day of [1, 2, 3, 4])
            yield* db.run(db.sql`update webhook_deliveries set state = ${day === 4 ? "succeeded" : "failed"},
              attempt_count = 12, created_at = ${atDay(day)} where endpoint_id = ${endpoint.id}
              and session_id = ${sessionId} and seq = ${day}`)
          const before = receiver.received.length
          let broken = true
          receiver.answer = (response) => response.writeHead(broken ? 500 : 200).end()
          assert.deepStrictEqual(
            yield* webhooks.retryAll(principal, endpoint.id, { since: atDay(2), until: atDay(4) }),
            {
              count: 2
            }
          )
          const id = items.find(({ seq, session_id }) => session_id === sessionId && seq === 2)?.id ?? ""
          const waiting = yield* eventually(webhooks.delivery(principal, id), ({ retry_at }) => retry_at !== null)
          assert.deepInclude(waiting, { state: "pending", attempt_count: 13 })
          broken = false
          yield* webhooks.retry(principal, id)
          yield* eventually(webhooks.get(principal, endpoint.id), ({ pending }) => pending === 0)
          assert.deepStrictEqual(
            receiver.received.slice(before).map(({ seq }) => seq),
            [2, 2, 3]
          )
          const failed = yield* webhooks.deliveries(principal, endpoint.id, { state: "failed" })
          assert.deepStrictEqual(
            failed.items.map(({ seq }) => seq),
            [1]
          )
          assert.deepStrictEqual(
            yield* webhooks.retryAll(principal, endpoint.id, { since: atDay(1), state: "succeeded" }),
            { count: 4 }
          )
          yield* receiver.until(({ length }) => length === before + 7)
          const again = receiver.received.slice(before + 3)
          assert.deepStrictEqual(firsts(again, sessionId), [2, 3, 4])
          assert.deepStrictEqual(firsts(again, other), [1])
        }).pipe(Effect.provide(sending))
      )

      it.scoped("an endpoint that asks for it is left alone by all sessions, and a person can ask it earlier", () =>
        Effect.gen(function* () {
          const { endpoint, principal, receiver, sessionId, webhooks, workspaceId } = yield* newEndpoint()
          let answers = 0
          receiver.answer = (response) => {
            answers++
            return answers === 1
              ? response.writeHead(429, { "retry-after": "3600" }).end("slow down")
              : response.writeHead(200).end()
          }
          yield* appendUsage(sessionId, [1])
          const paused = yield* eventually(
            webhooks.get(principal, endpoint.id),
            ({ paused_until }) => paused_until !== null
          )
          const { items } = yield* webhooks.deliveries(principal, endpoint.id, {})
          const delivery = yield* webhooks.delivery(principal, items[0]?.id ?? "")
          assert.strictEqual(delivery.retry_at, paused.paused_until)
          const [attempt] = delivery.attempts
          const end = Date.parse(attempt?.started_at ?? "") + (attempt?.duration_ms ?? 0)
          assert.strictEqual(Date.parse(delivery.retry_at ?? "") - end, 3_600_000)
          const other = yield* addSession(workspaceId)
          yield* appendUsage(other, [1])
          yield* eventually(webhooks.get(principal, endpoint.id), ({ pending }) => pending === 2)
          assert.lengthOf(receiver.received, 1)
          yield* webhooks.retry(principal, delivery.id)
          yield* receiver.until((received) => firsts(received, other).length === 1)
          const after = yield* eventually(webhooks.get(principal, endpoint.id), ({ pending }) => pending === 0)
          assert.isNull(after.paused_until)
          assert.deepStrictEqual(
            receiver.received.map(({ sessionId: of }) => of),
            [sessionId, sessionId, other]
          )
        }).pipe(Effect.provide(sending))
      )

      it.scoped("a pause ends by itself, and is never shorter than the back-off", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
          receiver.answer = (response, _, before) =>
            response.writeHead(before === 0 ? 503 : 200, { "retry-after": "1" }).end()
          yield* appendUsage(sessionId, [1])
          const { items } = yield* eventually(webhooks.deliveries(principal, endpoint.id, {}), (page) =>
            page.items.some(({ retry_at }) => retry_at !== null)
          )
          const [delivery] = items
          const { paused_until } = yield* webhooks.get(principal, endpoint.id)
          assert.isAbove(
            Date.parse(delivery?.retry_at ?? ""),
            Date.parse(paused_until ?? delivery?.created_at ?? "") + 1000
          )
          yield* db.run(db.sql`update webhook_deliveries set retry_at = null where id = ${delivery?.id ?? ""}`)
          yield* receiver.until(({ length }) => length === 2)
        }).pipe(Effect.provide(sending))
      )
    })
  })
}
