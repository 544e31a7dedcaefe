import type { ServerResponse } from "node:http"
import { assert, describe, layer as layerOf } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { FollowerStore } from "@reins/core/events/FollowerStore"
import { Database } from "@reins/core/store/Database"
import { maxEndpoints } from "@reins/core/webhooks/Webhooks"
import { everythingStored, newAccount } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Effect, Layer } from "effect"
import { addSession, appendUsage } from "../events/Sessions.js"
import { eventually, firsts, newEndpoint, numbersTo, sending, services, verified } from "./Endpoints.js"
import { newReceiver } from "./Receiver.js"

for (const { layer, name } of databases) {
  describe(`Webhooks on ${name}`, () => {
    layerOf(services(layer), { excludeTestServices: true })((it) => {
      it.scoped("what was committed is signed so that the public library accepts it, with the event as its data", () =>
        Effect.gen(function* () {
          const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
          yield* appendUsage(sessionId, [1, 2])
          yield* receiver.until(({ length }) => length === 2)
          const [first, second] = receiver.received
          if (first === undefined || second === undefined) return assert.fail("nothing came")
          const message = Object(verified(endpoint.secret, first))
          assert.deepStrictEqual(Object.keys(message), ["type", "timestamp", "position", "data"])
          assert.deepInclude(message, { type: "usage.observed", position: 1 })
          assert.strictEqual(message.data.id, first.id)
          assert.deepStrictEqual([first.seq, second.seq], [1, 2])
          assert.throws(() => verified(`whsec_${Buffer.alloc(32).toString("base64")}`, first))
          const list = yield* eventually(
            webhooks.deliveries(principal, endpoint.id, { state: "succeeded" }),
            ({ items }) => items.length === 2
          )
          const delivery = yield* webhooks.delivery(principal, list.items[0]?.id ?? "")
          assert.deepInclude(delivery, { seq: 2, attempt_count: 1, retry_at: null })
          assert.strictEqual(String(delivery.event_id), second.id)
          assert.lengthOf(delivery.attempts, 1)
          assert.deepInclude(delivery.attempts[0], { ordinal: 1, status: 204, error: null, answer: "" })
          assert.deepInclude(yield* webhooks.get(principal, endpoint.id), {
            pending: 0,
            failing_since: null,
            position: 2
          })
          assert.notInclude(yield* everythingStored, endpoint.secret)
        }).pipe(Effect.provide(sending))
      )

      restOn(name)(() => {
        it.scoped("an endpoint gets what it has chosen, and nothing from before it was made", () =>
          Effect.gen(function* () {
            const { sessionId, workspaceId, receiver, webhooks, principal } = yield* newEndpoint({
              types: ["usage.*"],
              label: "colour=red"
            })
            const red = yield* addSession(workspaceId, { colour: "red" })
            yield* appendUsage(sessionId, [1])
            yield* appendUsage(red, [1])
            yield* receiver.until(({ length }) => length === 1)
            const late = yield* newReceiver
            const second = yield* webhooks.create(principal, workspaceId, { url: late.url })
            yield* appendUsage(red, [2])
            yield* late.until(({ length }) => length === 1)
            yield* receiver.until(({ length }) => length === 2)
            assert.deepStrictEqual(firsts(receiver.received, red), [1, 2])
            assert.deepStrictEqual(firsts(receiver.received, sessionId), [])
            assert.deepStrictEqual(firsts(late.received, red), [2])
            yield* webhooks.remove(principal, second.id)
            yield* appendUsage(red, [3])
            yield* receiver.until(({ length }) => length === 3)
            assert.lengthOf(late.received, 1)
            assert.strictEqual((yield* Effect.flip(webhooks.get(principal, second.id))).code, "not_found")
          }).pipe(Effect.provide(sending))
        )

        it.scoped("a failure holds up its own session alone, leaves its evidence, and is tried again by hand", () =>
          Effect.gen(function* () {
            const { endpoint, principal, receiver, sessionId, webhooks, workspaceId } = yield* newEndpoint()
            const other = yield* addSession(workspaceId)
            let broken = true
            receiver.answer = (response, { sessionId: of }) =>
              broken && of === sessionId
                ? response.writeHead(500).end(`no\u0000 ${endpoint.secret} v1,${"A".repeat(44)} ${"x".repeat(5000)}`)
                : response.writeHead(200).end("ok")
            yield* appendUsage(sessionId, [1, 2])
            yield* receiver.until(({ length }) => length === 1)
            yield* appendUsage(other, [1, 2, 3])
            yield* receiver.until((received) => firsts(received, other).length === 3)
            assert.deepStrictEqual(firsts(receiver.received, sessionId), [1])
            const { items } = yield* eventually(
              webhooks.deliveries(principal, endpoint.id, { state: "pending" }),
              (page) => page.items.some(({ retry_at }) => retry_at !== null)
            )
            const failed = yield* webhooks.delivery(principal, items.at(-1)?.id ?? "")
            const waitMs = Date.parse(failed.retry_at ?? "") - Date.parse(failed.attempts[0]?.started_at ?? "")
            assert.isTrue(waitMs > 4000 && waitMs < 8000, `${waitMs}`)
            assert.deepInclude(failed.attempts[0], { status: 500, error: "It was answered with 500." })
            assert.strictEqual(failed.attempts[0]?.answer?.length, 1000)
            assert.match(failed.attempts[0]?.answer ?? "", /^no {2}\[secret\] \[secret\] x+$/)
            broken = false
            yield* webhooks.retry(principal, failed.id)
            yield* receiver.until((received) => firsts(received, sessionId).length === 2)
            const done = yield* eventually(
              webhooks.delivery(principal, failed.id),
              ({ state }) => state === "succeeded"
            )
            assert.lengthOf(done.attempts, 2)
            // By hand it can be had again when it has arrived, too.
            yield* webhooks.retry(principal, failed.id)
            yield* receiver.until((received) => received.filter(({ id }) => id === failed.event_id).length === 3)
          }).pipe(Effect.provide(sending))
        )

        it.scoped("a slow endpoint holds up no other", () =>
          Effect.gen(function* () {
            const { principal, receiver, sessionId, webhooks, workspaceId } = yield* newEndpoint()
            receiver.answer = () => {}
            const quick = yield* newReceiver
            yield* webhooks.create(principal, workspaceId, { url: quick.url })
            yield* Effect.forEach(numbersTo(20), (number) => appendUsage(sessionId, [number]), { discard: true })
            yield* quick.until(({ length }) => length === 20)
            assert.lengthOf(receiver.received, 1)
          }).pipe(Effect.provide(sending))
        )

        it.scoped(
          "410 disables an endpoint, its owners are told, and it goes on with what has waited when it is enabled",
          () =>
            Effect.gen(function* () {
              const { all, sql } = yield* Database
              const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
              receiver.answer = (response) => response.writeHead(410).end()
              yield* appendUsage(sessionId, [1])
              const gone = yield* eventually(webhooks.get(principal, endpoint.id), ({ state }) => state === "disabled")
              assert.strictEqual(gone.disabled_reason, "gone")
              const mails = yield* all(sql<{ payload: string }>`select payload from jobs where kind = 'mail.send'
            and subject_id = ${principal.accountId}`)
              const told = mails
                .map(({ payload }) => JSON.parse(payload))
                .filter(({ template }) => template === "webhook_disabled")
              assert.deepStrictEqual(told, [
                {
                  template: "webhook_disabled",
                  account_id: principal.accountId,
                  endpoint_id: endpoint.id,
                  host: new URL(receiver.url).host,
                  reason: "gone"
                }
              ])
              receiver.answer = (response) => response.writeHead(200).end()
              yield* appendUsage(sessionId, [2])
              const enabled = yield* webhooks.update(principal, endpoint.id, { state: "enabled" })
              assert.deepInclude(enabled, { state: "enabled", disabled_reason: null })
              yield* receiver.until((received) => firsts(received, sessionId).length === 2)
              assert.deepStrictEqual(firsts(receiver.received, sessionId), [1, 2])
            }).pipe(Effect.provide(sending))
        )

        it.scoped(
          "days of failure disable an endpoint; a delivery fails with its last attempt, and the next one follows",
          () =>
            Effect.gen(function* () {
              const db = yield* Database
              const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
              receiver.answer = (response, { seq }) => response.writeHead(seq === 1 ? 503 : 200).end()
              yield* appendUsage(sessionId, [1, 2])
              const { items } = yield* eventually(webhooks.deliveries(principal, endpoint.id, {}), (page) =>
                page.items.some(({ attempt_count }) => attempt_count === 1)
              )
              const id = items.at(-1)?.id ?? ""
              yield* db.run(db.sql`update webhook_deliveries set attempt_count = 11 where id = ${id}`)
              yield* webhooks.retry(principal, id)
              yield* receiver.until((received) => firsts(received, sessionId).length === 2)
              assert.deepInclude(yield* webhooks.delivery(principal, id), { state: "failed", attempt_count: 12 })
              receiver.answer = (response) => response.writeHead(503).end()
              yield* eventually(webhooks.get(principal, endpoint.id), ({ pending }) => pending === 0)
              yield* db.run(
                db.sql`update webhook_endpoints set failing_since = '2026-01-01T00:00:00.000Z' where id = ${endpoint.id}`
              )
              yield* appendUsage(sessionId, [3])
              const weary = yield* eventually(webhooks.get(principal, endpoint.id), ({ state }) => state === "disabled")
              assert.strictEqual(weary.disabled_reason, "failing")
            }).pipe(Effect.provide(sending))
        )

        it.scoped("a rotated secret signs beside the one before until the overlap ends", () =>
          Effect.gen(function* () {
            const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
            const next = yield* webhooks.rotate(principal, endpoint.id, {})
            assert.notStrictEqual(next.secret, endpoint.secret)
            assert.isNotNull(next.secret_overlaps_until)
            yield* appendUsage(sessionId, [1])
            yield* receiver.until(({ length }) => length === 1)
            const [first] = receiver.received
            for (const secret of [endpoint.secret, next.secret]) if (first !== undefined) verified(secret, first)
            const last = yield* webhooks.rotate(principal, endpoint.id, { overlap_seconds: 0 })
            assert.isNull(last.secret_overlaps_until)
            yield* appendUsage(sessionId, [2])
            yield* receiver.until(({ length }) => length === 2)
            const second = receiver.received[1]
            if (second === undefined) return assert.fail("nothing came")
            verified(last.secret, second)
            for (const secret of [endpoint.secret, next.secret]) assert.throws(() => verified(secret, second))
          }).pipe(Effect.provide(sending))
        )

        it.scoped("a receiver that has said 200 is sent nothing again, whatever its body does", () =>
          Effect.gen(function* () {
            const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
            const answers: ReadonlyArray<(response: ServerResponse) => unknown> = [
              (response) =>
                response.writeHead(200, { "content-length": "10" }).write("ok", () => response.socket?.destroy()),
              (response) => response.writeHead(200).write("ok"),
              (response) => response.writeHead(202).end("x".repeat(2_000_000))
            ]
            receiver.answer = (response) => answers[receiver.received.length - 1]?.(response)
            for (const [index] of answers.entries()) yield* appendUsage(sessionId, [index])
            const isOver = Effect.map(webhooks.get(principal, endpoint.id), ({ pending }) =>
              receiver.received.length >= answers.length && pending === 0 ? true : undefined
            )
            yield* eventually(isOver, (done) => done === true)
            assert.lengthOf(receiver.received, answers.length)
            const { items } = yield* webhooks.deliveries(principal, endpoint.id, {})
            assert.deepStrictEqual(
              items.map(({ state }) => state),
              answers.map(() => "succeeded")
            )
          }).pipe(Effect.provide(sending))
        )

        it.scoped("a receiver that answers 410 and then breaks off is gone", () =>
          Effect.gen(function* () {
            const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
            receiver.answer = (response) =>
              receiver.received.length === 1
                ? response.writeHead(410, { "content-length": "10" }).write("no", () => response.socket?.destroy())
                : response.writeHead(204).end()
            yield* appendUsage(sessionId, [1])
            const reason = Effect.map(webhooks.get(principal, endpoint.id), ({ disabled_reason }) => disabled_reason)
            assert.strictEqual(yield* eventually(reason, (value) => value !== null), "gone")
          }).pipe(Effect.provide(sending))
        )

        it.scoped("neither private hosts nor what a redirect leads to are called", () =>
          Effect.gen(function* () {
            const { endpoint, principal, receiver, sessionId, webhooks } = yield* newEndpoint()
            const inner = yield* newReceiver
            receiver.answer = (response) => response.writeHead(302, { location: inner.url }).end()
            const refused = yield* webhooks.create(principal, endpoint.workspace_id, { url: "http://10.0.0.1/hook" })
            yield* appendUsage(sessionId, [1])
            const errorOf = (id: string) =>
              Effect.gen(function* () {
                const { items } = yield* webhooks.deliveries(principal, id, {})
                const [first] = items
                return first === undefined
                  ? undefined
                  : (yield* webhooks.delivery(principal, first.id)).attempts[0]?.error
              })
            assert.include(yield* eventually(errorOf(endpoint.id), (error) => error !== undefined), "redirect")
            assert.include(yield* eventually(errorOf(refused.id), (error) => error !== undefined), "10.0.0.1")
            assert.deepStrictEqual(inner.received, [])
          }).pipe(Effect.provide(sending))
        )

        it.scoped(
          "couriers and receivers that are ended at random lose nothing and keep the order of each session",
          () =>
            Effect.gen(function* () {
              const { receiver, sessionId, webhooks, principal, endpoint, workspaceId } = yield* newEndpoint()
              const sessions = [sessionId, ...(yield* Effect.replicateEffect(addSession(workspaceId), 4))]
              const each = 30
              let cuts = 0
              // A receiver that dies takes the connection with it, before or after it has taken the delivery in.
              receiver.answer = (response) => {
                if (cuts++ % 17 === 5) response.socket?.destroy()
                else response.writeHead(200).end()
              }
              const writing = Effect.forEach(
                sessions,
                (id) => Effect.forEach(numbersTo(each), (number) => appendUsage(id, [number]), { discard: true }),
                { concurrency: "unbounded", discard: true }
              )
              yield* Effect.fork(writing)
              const retryAll = Effect.gen(function* () {
                const { items } = yield* webhooks.deliveries(principal, endpoint.id, { state: "pending", limit: 200 })
                yield* Effect.forEach(
                  items.filter(({ retry_at }) => retry_at !== null),
                  ({ id }) => webhooks.retry(principal, id),
                  { discard: true }
                )
                return (yield* webhooks.get(principal, endpoint.id)).pending === 0
              })
              const isDone = () => sessions.every((id) => firsts(receiver.received, id).length === each)
              // Each life of the couriers ends in the middle of its work, with attempts on their way.
              yield* Effect.repeat(
                Effect.gen(function* () {
                  const before = receiver.received.length
                  yield* Effect.scoped(
                    Effect.zipRight(
                      Layer.build(Layer.fresh(sending)),
                      Effect.raceFirst(
                        receiver.until(({ length }) => length >= before + 23 || isDone()),
                        Effect.forever(Effect.delay(retryAll, "20 millis"))
                      )
                    )
                  )
                }),
                { until: isDone }
              )
              for (const id of sessions) assert.deepStrictEqual(firsts(receiver.received, id), numbersTo(each))
            })
        )

        it.scoped("one of two processes sends, and the other takes over when it is gone", () =>
          Effect.gen(function* () {
            const { receiver, sessionId } = yield* newEndpoint()
            const process = (bootId: string) => {
              const boot = Layer.succeed(
                Boot,
                Boot.of({
                  nodeId: "test",
                  bootId,
                  alone: false,
                  ended: Effect.succeed([]),
                  forget: () => Effect.void
                })
              )
              return Layer.build(
                Layer.fresh(sending).pipe(Layer.provide(Layer.fresh(FollowerStore.layer)), Layer.provide(boot))
              )
            }
            yield* Effect.scoped(
              Effect.gen(function* () {
                yield* process("boot_one")
                yield* process("boot_two")
                yield* Effect.forEach(numbersTo(50), (number) => appendUsage(sessionId, [number]), { discard: true })
                yield* receiver.until(({ length }) => length >= 50)
              })
            )
            assert.deepStrictEqual(
              receiver.received.map(({ seq }) => seq),
              numbersTo(50)
            )
            yield* process("boot_three")
            yield* appendUsage(sessionId, [51])
            yield* receiver.until((received) => firsts(received, sessionId).length === 51)
          })
        )

        it.scoped("only an owner with the scope admin manages endpoints, and there are 20 of a workspace", () =>
          Effect.gen(function* () {
            const { run, sql } = yield* Database
            const { endpoint, principal, webhooks, workspaceId } = yield* newEndpoint()
            const guest = yield* newAccount
            const asGuest: Principal = { ...principal, accountId: guest.id }
            const created = endpoint.created_at
            const all = (as: Principal): ReadonlyArray<Effect.Effect<unknown, ReinsError>> => [
              webhooks.list(as, workspaceId, {}),
              webhooks.create(as, workspaceId, { url: "https://a.example" }),
              webhooks.get(as, endpoint.id),
              webhooks.update(as, endpoint.id, { state: "disabled" }),
              webhooks.rotate(as, endpoint.id, {}),
              webhooks.test(as, endpoint.id),
              webhooks.retryAll(as, endpoint.id, { since: created }),
              webhooks.deliveries(as, endpoint.id, {}),
              webhooks.remove(as, endpoint.id)
            ]
            const codesOf = (as: Principal) =>
              Effect.map(
                Effect.forEach(all(as), (act) => Effect.flip(act)),
                (errors) => [...new Set(errors.map(({ code }) => code))]
              )
            assert.deepStrictEqual(yield* codesOf(asGuest), ["not_found"])
            yield* run(
              sql`insert into workspace_members ${sql.insert({ workspace_id: WorkspaceId.make(workspaceId), account_id: guest.id, role: "member", created_at: yield* now })}`
            )
            assert.deepStrictEqual(yield* codesOf(asGuest), ["forbidden"])
            assert.deepStrictEqual(yield* codesOf({ ...principal, scopes: ["write"] }), ["insufficient_scope"])
            yield* Effect.replicateEffect(
              webhooks.create(principal, workspaceId, { url: "https://a.example" }),
              maxEndpoints - 1
            )
            const refused = yield* Effect.flip(webhooks.create(principal, workspaceId, { url: "https://a.example" }))
            assert.deepStrictEqual(refused.details, { quota: "webhook_endpoints", used: 20, limit: 20 })
          })
        )
      })
    })
  })
}
