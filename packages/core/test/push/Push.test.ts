import { assert, describe, layer as layerOf } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId } from "@reins/base/domain/Ids"
import * as Follower from "@reins/core/events/Follower"
import { notifier } from "@reins/core/push/Notifier"
import { PushStore } from "@reins/core/push/PushStore"
import { maxSubscriptions, PushSubscriptions } from "@reins/core/push/PushSubscriptions"
import { newPushKey, vapidKeysOf } from "@reins/core/push/VapidKeys"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { everythingStored } from "@reins/testing/identity/Identity"
import { claimsIn, newBrowser, newPushService } from "@reins/testing/push/PushService"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Effect, Layer, Redacted } from "effect"
import { events, newSession } from "../events/Sessions.js"
import { eventually } from "../webhooks/Endpoints.js"

const key = newPushKey()

const services = (database: (typeof databases)[number]["layer"], pushKey: Redacted.Redacted | null) =>
  PushSubscriptions.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(PushStore.layer, SessionStore.layer)),
    Layer.provideMerge(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })),
    Layer.provideMerge(events(database)),
    Layer.provideMerge(CoreConfig.layer({ dataDir: "/nonexistent", pushKey, mailFrom: "Reins <reins@example.com>" }))
  )

/** Tells browsers of what was committed, as a process of a server does. */
const telling = Follower.layerOf([notifier])

const newSubscriber = Effect.gen(function* () {
  const subscriptions = yield* PushSubscriptions
  const person = yield* newSession
  const service = yield* newPushService
  const browser = newBrowser()
  const endpoint = `${service.origin}/send/a-secret-path`
  const subscribe = (to = endpoint) =>
    subscriptions.subscribe(person.principal, person.workspaceId, { endpoint: to, ...browser.keys })
  const list = Effect.map(subscriptions.list(person.principal, person.workspaceId, { limit: 50 }), ({ items }) => items)
  return { ...person, service, browser, endpoint, subscriptions, subscribe, list }
})

/** Commits an event of a turn. Nobody here reads its turn. */
const happen = (
  sessionId: SessionId,
  type: "turn.action_required" | "turn.failed" | "turn.succeeded" | "turn.started",
  payload: object = {}
) =>
  Effect.flatMap(Journal, (journal) =>
    journal.commit(journal.append(sessionId, { kind: "system", id: "test" }, [{ type, payload: payload as never }]))
  )

for (const { layer, name } of databases) {
  describe(`Notifications of browsers on ${name}`, () => {
    layerOf(services(layer, Redacted.make(key)), { excludeTestServices: true })((it) => {
      it.scoped("a browser reads when a session asks, fails or ends, and nobody else can", () =>
        Effect.gen(function* () {
          const { browser, endpoint, list, service, sessionId, subscribe } = yield* newSubscriber
          const db = yield* Database
          yield* db.run(db.sql`update sessions set title = ${"Count the items"} where id = ${sessionId}`)
          yield* happen(sessionId, "turn.failed")
          const made = yield* subscribe()
          assert.deepInclude(made, { host: new URL(endpoint).host })
          yield* happen(sessionId, "turn.started")
          const interaction = { kind: "approval", title: "export KEY=secret-of-the-agent" }
          yield* happen(sessionId, "turn.action_required", { interaction })
          yield* service.until(1)
          yield* happen(sessionId, "turn.action_required")
          yield* service.until(2)
          const subject = { kind: "edit", files: 2 }
          yield* happen(sessionId, "turn.action_required", { interaction: { ...interaction, subject } })
          yield* service.until(3)
          yield* happen(sessionId, "turn.succeeded")
          yield* service.until(4)
          const read = service.arrived.map(({ body }) => browser.read(body))
          const of = { title: "Count the items", session_id: sessionId }
          assert.deepStrictEqual(read, [
            { ...of, body: "Asks for your approval. Open it to see what for." },
            { ...of, body: "Needs your answer." },
            { ...of, body: "Asks to change 2 files. Open it to see all of it." },
            { ...of, body: "The turn has ended." }
          ])
          const [first] = service.arrived
          if (first === undefined) return assert.fail("nothing came")
          assert.strictEqual(first.path, "/send/a-secret-path")
          assert.deepInclude(first.headers, { "content-encoding": "aes128gcm", ttl: "86400", topic: sessionId })
          assert.notInclude(first.body.toString("latin1"), "Count")
          const { claims, key: shown } = claimsIn(first.headers.authorization)
          assert.deepInclude(claims, { aud: service.origin, sub: "mailto:reins@example.com" })
          assert.strictEqual(shown, vapidKeysOf(key)?.publicKey)
          assert.deepStrictEqual(yield* list, [made])
          const stored = yield* everythingStored
          for (const secret of ["a-secret-path", browser.keys.auth, key]) assert.notInclude(stored, secret)
        }).pipe(Effect.provide(telling))
      )

      restOn(name)(() => {
        it.scoped("a browser that its push service no longer knows, or whose key it refuses, is forgotten", () =>
          Effect.gen(function* () {
            for (const status of [404, 410, 400, 401, 403]) {
              const { list, service, sessionId, subscribe } = yield* newSubscriber
              service.answer.status = status
              const { id } = yield* subscribe()
              yield* happen(sessionId, "turn.succeeded")
              yield* eventually(list, (items) => items.length === 0)
              assert.lengthOf(service.arrived, 1)
              const db = yield* Database
              assert.deepStrictEqual(yield* db.all(db.sql`select key from followers where key = ${id}`), [])
            }
          }).pipe(Effect.provide(telling))
        )

        it.scoped("a notice that a push service finds too large is dropped, and the browser is told of the next", () =>
          Effect.gen(function* () {
            const { list, service, sessionId, subscribe } = yield* newSubscriber
            service.answer.status = 413
            yield* subscribe()
            yield* happen(sessionId, "turn.failed")
            yield* service.until(1)
            service.answer.status = 201
            yield* happen(sessionId, "turn.succeeded")
            yield* service.until(2)
            assert.lengthOf(yield* list, 1)
          }).pipe(Effect.provide(telling))
        )

        it.scoped("no private address is asked that the operator has not allowed", () =>
          Effect.gen(function* () {
            const { list, service, sessionId, subscribe } = yield* newSubscriber
            yield* subscribe(`http://localhost:${service.port}/refused`)
            yield* happen(sessionId, "turn.succeeded")
            // The second browser is told after the first one, so that one would have been.
            yield* subscribe()
            yield* happen(sessionId, "turn.failed")
            yield* service.until(1)
            assert.deepStrictEqual(
              service.arrived.map(({ path }) => path),
              ["/send/a-secret-path"]
            )
            assert.lengthOf(yield* list, 2)
          }).pipe(Effect.provide(telling))
        )

        it.scoped("who has left the workspace is told nothing and forgotten", () =>
          Effect.gen(function* () {
            const { principal, service, sessionId, subscribe, workspaceId } = yield* newSubscriber
            const { id } = yield* subscribe()
            const db = yield* Database
            yield* db.run(db.sql`delete from workspace_members
            where workspace_id = ${workspaceId} and account_id = ${principal.accountId}`)
            yield* happen(sessionId, "turn.succeeded")
            const store = yield* PushStore
            yield* eventually(store.find(id), (row) => row === undefined)
            assert.lengthOf(service.arrived, 0)
          }).pipe(Effect.provide(telling))
        )

        it.scoped(
          "a browser has one subscription, which its account alone sees and ends, and there are at most 20",
          () =>
            Effect.gen(function* () {
              const { endpoint, list, principal, subscribe, subscriptions } = yield* newSubscriber
              const { principal: stranger } = yield* newSession
              const made = yield* subscribe()
              assert.strictEqual((yield* subscribe()).id, made.id)
              assert.strictEqual((yield* Effect.flip(subscriptions.unsubscribe(stranger, made.id))).code, "not_found")
              for (let more = 1; more < maxSubscriptions; more++) yield* subscribe(`${endpoint}/${more}`)
              assert.strictEqual((yield* Effect.flip(subscribe(`${endpoint}/last`))).code, "quota_exhausted")
              yield* subscriptions.unsubscribe(principal, made.id)
              assert.lengthOf(yield* list, maxSubscriptions - 1)
              assert.strictEqual((yield* Effect.flip(subscriptions.unsubscribe(principal, made.id))).code, "not_found")
            })
        )
      })
    })

    layerOf(services(layer, null), { excludeTestServices: true })((it) => {
      it.scoped("without a key nobody subscribes", () =>
        Effect.gen(function* () {
          const { subscribe, subscriptions } = yield* newSubscriber
          assert.isNull(subscriptions.publicKey)
          assert.strictEqual((yield* Effect.flip(subscribe())).code, "invalid_transition")
        })
      )
    })
  })
}
