import { assert, describe, layer as layerOf } from "@effect/vitest"
import { fromNow } from "@reins/base/domain/Timestamp"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import * as WorkspaceLog from "@reins/core/store/WorkspaceLog"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { appendUsage } from "../events/Sessions.js"
import { eventually, newEndpoint, sending, services } from "./Endpoints.js"

for (const { layer, name } of flowDatabases) {
  describe(`Events that are no longer kept, on ${name}`, () => {
    layerOf(services(layer), { excludeTestServices: true })((it) => {
      it.scoped("end their deliveries, which is not held against the endpoint, and the later ones follow", () =>
        Effect.gen(function* () {
          const { run, sql } = yield* Database
          const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
          receiver.answer = (response) => response.writeHead(503, { "retry-after": "600" }).end()
          yield* appendUsage(sessionId, [1, 2])
          yield* eventually(webhooks.get(principal, endpoint.id), ({ paused_until }) => paused_until !== null)
          const since = (yield* webhooks.get(principal, endpoint.id)).failing_since
          yield* run(sql`delete from events where session_id = ${sessionId} and seq = 1`)
          receiver.answer = () => {}
          const { items } = yield* webhooks.deliveries(principal, endpoint.id, {})
          const first = items.at(-1)?.id ?? ""
          yield* webhooks.retry(principal, first)
          yield* receiver.until(({ length }) => length === 2)
          const expired = yield* webhooks.delivery(principal, first)
          assert.deepInclude(expired, { state: "failed", retry_at: null })
          assert.deepInclude(expired.attempts.at(-1), {
            status: null,
            error: "The event is no longer kept, so it was not sent."
          })
          assert.deepInclude(yield* webhooks.get(principal, endpoint.id), { state: "enabled", failing_since: since })
          assert.strictEqual(receiver.received.at(-1)?.seq, 2)
        }).pipe(Effect.provide(sending))
      )

      it.scoped("are passed over by an endpoint that was disabled for too long", () =>
        Effect.gen(function* () {
          const log = yield* WorkspaceLog.make
          const journal = yield* Journal
          const { endpoint, principal, receiver, sessionId, webhooks, workspaceId } = yield* newEndpoint()
          yield* webhooks.update(principal, endpoint.id, { state: "disabled" })
          yield* appendUsage(sessionId, [1, 2])
          // A second endpoint has them numbered.
          const other = yield* webhooks.create(principal, workspaceId, { url: receiver.url })
          yield* appendUsage(sessionId, [3])
          yield* receiver.until(({ length }) => length === 1)
          yield* webhooks.remove(principal, other.id)
          yield* journal.commit(Effect.flatMap(fromNow(1000), (before) => log.forget(workspaceId, before)))
          yield* webhooks.update(principal, endpoint.id, { state: "enabled" })
          yield* appendUsage(sessionId, [4])
          yield* receiver.until(({ length }) => length === 2)
          assert.deepStrictEqual(
            receiver.received.map(({ seq }) => seq),
            [3, 4]
          )
        }).pipe(Effect.provide(sending))
      )
    })
  })
}
