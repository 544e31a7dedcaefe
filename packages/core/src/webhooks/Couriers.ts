import { Cause, Effect, FiberMap, Layer } from "effect"
import * as Memberships from "../access/Memberships.js"
import { Observer } from "../base/Observer.js"
import type { WebhookEndpointId } from "../domain/Ids.js"
import { EventLog } from "../events/EventLog.js"
import { WorkspaceEvents } from "../events/WorkspaceEvents.js"
import { webhookMailTo } from "../identity/MailJob.js"
import { JobStore } from "../jobs/JobStore.js"
import { Outbound } from "../outbound/Outbound.js"
import { Vault } from "../secrets/Vault.js"
import { Bell, webhooksTopic, webhookTopic, workspaceTopic } from "../store/Bell.js"
import { Database } from "../store/Database.js"
import { type Couriering, longestWaitMs, round } from "./Courier.js"
import { DeliveryQueue, HoldLost } from "./DeliveryQueue.js"
import type { WebhookDisabledReason } from "./Webhook.js"
import { type EndpointRow, WebhookStore } from "./WebhookStore.js"

/** The attempts that a process makes at the same time, for all endpoints. */
const places = 128

/** Milliseconds between two renewals of a hold while deliveries are on their way. */
const renewMs = 7_500

/**
 * Sends the events of workspaces to their webhook endpoints until the layer ends. Each endpoint has a courier of its own, so that a slow one
 * holds up no other. On PostgreSQL the couriers of several processes share the endpoints: one process at a time holds each of them.
 * `types` are those of the stream of a workspace.
 */
export const layerOf = (types: ReadonlyArray<string>) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const bell = yield* Bell
      const store = yield* WebhookStore
      const on: Couriering = {
        events: yield* WorkspaceEvents,
        log: yield* EventLog,
        observer: yield* Observer,
        outbound: yield* Outbound,
        queue: yield* DeliveryQueue,
        types,
        vault: yield* Vault,
        places: yield* Effect.makeSemaphore(places),
        tellOwners: yield* tellOwners
      }
      const couriers = yield* FiberMap.make<WebhookEndpointId>()
      const rung = yield* Effect.makeLatch(true)
      const stopListening = bell.listen(webhooksTopic, () => rung.unsafeOpen())
      yield* Effect.addFinalizer(() => Effect.sync(stopListening))

      const look = Effect.gen(function* () {
        yield* rung.close
        const enabled = yield* store.enabled
        const wanted = new Set(enabled.map(({ id }) => id))
        for (const [id] of couriers) if (!wanted.has(id)) yield* FiberMap.remove(couriers, id)
        yield* Effect.forEach(
          enabled,
          (endpoint) => FiberMap.run(couriers, endpoint.id, courier(on, bell, endpoint), { onlyIfMissing: true }),
          { discard: true }
        )
        // The processes of an installation learn of endpoints by a ring, and by a look when it was lost.
        yield* Effect.timeoutOption(rung.await, longestWaitMs * 3)
      })
      yield* keepGoing("webhook endpoints cannot be listed", look).pipe(Effect.forever, Effect.forkScoped)
    })
  )

/** Works for an endpoint as long as this process holds it, and waits while another one does. */
const courier = (on: Couriering, bell: Bell["Type"], { id, workspace_id }: Pick<EndpointRow, "id" | "workspace_id">) =>
  Effect.gen(function* () {
    const rung = yield* Effect.makeLatch(true)
    for (const topic of [workspaceTopic(workspace_id), webhookTopic(id)])
      yield* Effect.acquireRelease(
        Effect.sync(() => bell.listen(topic, () => rung.unsafeOpen())),
        (stop) => Effect.sync(stop)
      )
    yield* Effect.addFinalizer(() => Effect.ignoreLogged(Effect.sandbox(on.queue.release(id))))
    const step = Effect.gen(function* () {
      yield* rung.close
      const endpoint = yield* on.queue.hold(id)
      const waitMs = endpoint === undefined ? longestWaitMs : yield* whileHeld(on, endpoint)
      if (waitMs > 0) yield* Effect.timeoutOption(rung.await, waitMs)
    })
    return yield* Effect.forever(keepGoing("a webhook endpoint cannot be served", step))
  }).pipe(Effect.scoped)

/** A round, while the hold on the endpoint is renewed. */
const whileHeld = (on: Couriering, endpoint: EndpointRow) => {
  const renew = Effect.flatMap(Effect.delay(on.queue.hold(endpoint.id), renewMs), (row) =>
    row === undefined ? Effect.fail(new HoldLost()) : Effect.void
  )
  return Effect.raceFirst(round(on, endpoint), Effect.forever(renew)).pipe(
    Effect.catchTag("HoldLost", () => Effect.succeed(longestWaitMs))
  )
}

/** Goes on a little later when the database cannot be reached. */
const keepGoing = <R>(what: string, step: Effect.Effect<void, never, R>): Effect.Effect<void, never, R> =>
  Effect.catchAllDefect(step, (defect) =>
    Effect.zipRight(Effect.logWarning(what, Cause.pretty(Cause.die(defect))), Effect.sleep("1 second"))
  )

/** Has a mail sent to each owner of the workspace of an endpoint that was disabled. */
const tellOwners = Effect.gen(function* () {
  const db = yield* Database
  const jobs = yield* JobStore
  return Effect.fnUntraced(function* (endpoint: EndpointRow, reason: WebhookDisabledReason) {
    const owners = yield* Memberships.ownersOf(db, endpoint.workspace_id)
    yield* Effect.forEach(
      owners,
      (accountId) =>
        jobs.enqueue(webhookMailTo(accountId, { id: endpoint.id, host: new URL(endpoint.url).host, reason })),
      { discard: true }
    )
  })
})
