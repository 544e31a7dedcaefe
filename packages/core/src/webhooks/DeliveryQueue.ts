import type { WebhookEndpointId } from "@reins/base/domain/Ids"
import { fromNow, now, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { HoldLost } from "../events/FollowerStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { WebhookAttempt, WebhookDelivery, WebhookDisabledReason } from "./Webhook.js"
import { deliveryRow, type EndpointRow, type NewWebhookDelivery } from "./WebhookStore.js"

/** A delivery as a courier has it. */
export interface QueuedDelivery extends WebhookDelivery {
  /** The attempts that it had when it was last made again by hand. Its back-off begins there. */
  readonly series_from: number
}

/** The end of an attempt, and what follows from it. */
export interface DeliveryAttemptEnd {
  readonly attempt: Omit<WebhookAttempt, "ordinal">
  readonly state: WebhookDelivery["state"]
  /** The time of the next attempt of a delivery that is still pending. */
  readonly retryAt: Timestamp | null
  /** The first of the failures since the last success; null after a success. */
  readonly failingSince: Timestamp | null
  /** The time until which the endpoint asks to be left alone; null when it does not. */
  readonly pausedUntil: Timestamp | null
  /** The reason why the endpoint is to be sent nothing more; null for an endpoint that stays enabled. */
  readonly disable: WebhookDisabledReason | null
}

/** The deliveries of endpoints as couriers work them. A courier commits what it writes here while its process holds the endpoint. */
export class DeliveryQueue extends Context.Tag("@reins/core/webhooks/DeliveryQueue")<
  DeliveryQueue,
  {
    /** Adds deliveries to an endpoint. Fails when it is no longer enabled. */
    readonly add: (
      id: WebhookEndpointId,
      deliveries: ReadonlyArray<NewWebhookDelivery>
    ) => Effect.Effect<void, HoldLost, Commit>
    /**
     * The first pending deliveries whose sessions wait for no retry: tests, and then the others in the order of their positions. `retryAt` is the time of the first
     * retry of the others.
     */
    readonly due: (
      id: WebhookEndpointId,
      limit: number
    ) => Effect.Effect<{ readonly due: ReadonlyArray<QueuedDelivery>; readonly retryAt: Timestamp | null }>
    /**
     * Writes the end of an attempt, with what it means for the endpoint and what follows from it. `endOf` gets the first failure since the last
     * success, as it stands at this commit, because other sessions of the endpoint are tried at the same time. Fails when the endpoint is no longer
     * enabled.
     */
    readonly attempted: (
      delivery: WebhookDelivery,
      endOf: (failingSince: Timestamp | null) => Effect.Effect<DeliveryAttemptEnd>,
      disabled: (reason: WebhookDisabledReason) => Effect.Effect<void, never, Commit>
    ) => Effect.Effect<DeliveryAttemptEnd, HoldLost, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    DeliveryQueue,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db

      /** The endpoint, which nobody else changes until the commit is through. */
      const enabled = (id: WebhookEndpointId) =>
        Effect.filterOrFail(
          db.first(sql<Pick<EndpointRow, "failing_since">>`select failing_since from webhook_endpoints
            where id = ${id} and state = 'enabled'${db.forUpdate}`),
          (row) => row !== undefined,
          () => new HoldLost()
        )

      return DeliveryQueue.of({
        add: Effect.fnUntraced(function* (id, deliveries) {
          yield* enabled(id)
          const rows = yield* Effect.forEach(deliveries, (delivery) => deliveryRow(id, delivery))
          if (rows.length > 0) yield* db.run(sql`insert into webhook_deliveries ${sql.insert(rows)}`)
        }),
        due: Effect.fnUntraced(function* (id, limit) {
          const at = yield* now
          const due = yield* db.all(sql<QueuedDelivery>`select * from webhook_deliveries as delivery
            where endpoint_id = ${id} and state = 'pending' and not exists (
              select 1 from webhook_deliveries as waiting where waiting.endpoint_id = ${id}
              and waiting.session_id = delivery.session_id and waiting.state = 'pending' and waiting.retry_at > ${at}
            ) order by coalesce(position, 0) limit ${limit}`)
          const next = yield* db.first(sql<{ retry_at: Timestamp | null }>`select min(retry_at) as retry_at
            from webhook_deliveries where endpoint_id = ${id} and state = 'pending' and retry_at > ${at}`)
          return { due, retryAt: next?.retry_at ?? null }
        }),
        attempted: Effect.fnUntraced(function* (delivery, endOf, disabled) {
          const { endpoint_id, id } = delivery
          const { failing_since } = yield* enabled(endpoint_id)
          const end = yield* endOf(failing_since)
          const { attempt, disable, failingSince, pausedUntil, retryAt, state } = end
          const count = yield* db.first(sql<{ attempt_count: number }>`update webhook_deliveries
            set attempt_count = attempt_count + 1, state = ${state}, retry_at = ${retryAt},
            finished_at = ${state === "pending" ? null : yield* now} where id = ${id} returning attempt_count`)
          // A delivery goes with its session, also while it is attempted.
          if (count !== undefined) {
            const evidence = { delivery_id: id, ordinal: count.attempt_count, ...attempt }
            yield* db.run(sql`insert into webhook_attempts ${sql.insert(evidence)}`)
          }
          yield* db.run(sql`update webhook_endpoints set failing_since = ${failingSince},
            paused_until = coalesce(${pausedUntil}, paused_until) where id = ${endpoint_id}`)
          // An endpoint that is back after a while is sent at once what has waited for a retry.
          if (failing_since !== null && state === "succeeded")
            yield* db.run(sql`update webhook_deliveries set retry_at = null where endpoint_id = ${endpoint_id}
              and state = 'pending' and retry_at <= ${yield* waitsUntil(failing_since)}`)
          if (disable === null) return end
          yield* db.run(sql`update webhook_endpoints set state = 'disabled', disabled_reason = ${disable}
            where id = ${endpoint_id}`)
          yield* disabled(disable)
          return end
        })
      })
    })
  )
}

/**
 * The end of the waits that are over once something gets through: those that are up to four times as long as nothing did. Where an endpoint
 * takes most deliveries and refuses one of them, that one keeps to its back-off.
 */
const waitsUntil = (failingSince: Timestamp): Effect.Effect<Timestamp> =>
  Effect.flatMap(now, (at) => fromNow(4 * Math.max(0, toMillis(at) - toMillis(failingSince))))
