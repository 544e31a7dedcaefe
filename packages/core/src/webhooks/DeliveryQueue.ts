import { Context, Data, Effect, Layer } from "effect"
import type { WebhookEndpointId } from "../domain/Ids.js"
import { fromNow, now, type Timestamp, toMillis } from "../domain/Timestamp.js"
import { Boot } from "../placement/Boot.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import type { WebhookAttempt, WebhookDelivery, WebhookDisabledReason } from "./Webhook.js"
import { deliveryRow, type EndpointRow, type NewWebhookDelivery } from "./WebhookStore.js"

/** Another process holds the endpoint, or it is no longer enabled. Nothing was written. */
export class HoldLost extends Data.TaggedError("HoldLost") {}

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

/**
 * The deliveries of endpoints as couriers work them. One process at a time holds an endpoint, and what another one still writes is refused, so
 * that the deliveries of a session leave in their order.
 */
export class DeliveryQueue extends Context.Tag("@reins/core/webhooks/DeliveryQueue")<
  DeliveryQueue,
  {
    /** Takes or keeps the hold on an endpoint. Undefined when it is disabled or removed, or another process holds it. */
    readonly hold: (id: WebhookEndpointId) => Effect.Effect<EndpointRow | undefined>
    /** Gives the hold back, so that another process need not wait. */
    readonly release: (id: WebhookEndpointId) => Effect.Effect<void>
    /** Adds deliveries and moves the endpoint to the position behind them, in one commit. */
    readonly derive: (
      id: WebhookEndpointId,
      position: number,
      deliveries: ReadonlyArray<NewWebhookDelivery>
    ) => Effect.Effect<void, HoldLost>
    /**
     * The first pending deliveries whose sessions wait for no retry: tests, and then the others in the order of their positions. `retryAt` is the time of the first
     * retry of the others.
     */
    readonly due: (
      id: WebhookEndpointId,
      limit: number
    ) => Effect.Effect<{ readonly due: ReadonlyArray<QueuedDelivery>; readonly retryAt: Timestamp | null }>
    /**
     * Writes the end of an attempt, with what it means for the endpoint, in one commit with what follows from it. `endOf` is given the first of
     * the failures since the last success, as it stands at this commit: other sessions of the endpoint are tried at the same time.
     */
    readonly attempted: (
      delivery: WebhookDelivery,
      endOf: (failingSince: Timestamp | null) => Effect.Effect<DeliveryAttemptEnd>,
      disabled: (reason: WebhookDisabledReason) => Effect.Effect<void, never, Commit>
    ) => Effect.Effect<DeliveryAttemptEnd, HoldLost>
  }
>() {
  static readonly layer = Layer.effect(
    DeliveryQueue,
    Effect.gen(function* () {
      const db = yield* Database
      const { clock, sql } = db
      const journal = yield* Journal
      const { alone, bootId } = yield* Boot

      /** Runs an effect while no other process can take the endpoint. */
      const held = <A>(id: WebhookEndpointId, command: (row: HeldRow) => Effect.Effect<A, never, Commit>) =>
        journal.commit(
          Effect.gen(function* () {
            const row = yield* db.first(sql<HeldRow>`update webhook_endpoints
              set held_until = ${yield* clock.at(holdMs)}
              where id = ${id} and holder = ${bootId} and state = 'enabled' returning failing_since`)
            return row === undefined ? yield* new HoldLost() : yield* command(row)
          })
        )

      return DeliveryQueue.of({
        hold: Effect.fnUntraced(function* (id) {
          // A process that works alone finds only what ended processes held.
          const isFree = sql.or([
            sql`holder is null`,
            sql`holder = ${bootId}`,
            sql`held_until < ${yield* clock.at(0)}`,
            sql`1 = ${alone ? 1 : 0}`
          ])
          return yield* db.first(sql<EndpointRow>`update webhook_endpoints
            set holder = ${bootId}, held_until = ${yield* clock.at(holdMs)}
            where id = ${id} and state = 'enabled' and ${isFree} returning *`)
        }),
        release: (id) =>
          db.run(sql`update webhook_endpoints set holder = null, held_until = null
            where id = ${id} and holder = ${bootId}`),
        derive: (id, position, deliveries) =>
          held(id, () =>
            Effect.gen(function* () {
              const rows = yield* Effect.forEach(deliveries, (delivery) => deliveryRow(id, delivery))
              if (rows.length > 0) yield* db.run(sql`insert into webhook_deliveries ${sql.insert(rows)}`)
              yield* db.run(sql`update webhook_endpoints set position = ${position} where id = ${id}`)
            })
          ),
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
        attempted: (delivery, endOf, disabled) =>
          held(delivery.endpoint_id, ({ failing_since }) =>
            Effect.gen(function* () {
              const { id } = delivery
              const end = yield* endOf(failing_since)
              const { attempt, disable, failingSince, pausedUntil, retryAt, state } = end
              const count = yield* db.first(sql<{ attempt_count: number }>`update webhook_deliveries
                set attempt_count = attempt_count + 1, state = ${state}, retry_at = ${retryAt},
                finished_at = ${state === "pending" ? null : yield* now} where id = ${id} returning attempt_count`)
              const evidence = { delivery_id: id, ordinal: count?.attempt_count ?? 1, ...attempt }
              yield* db.run(sql`insert into webhook_attempts ${sql.insert(evidence)}`)
              yield* db.run(sql`update webhook_endpoints set failing_since = ${failingSince},
                paused_until = coalesce(${pausedUntil}, paused_until) where id = ${delivery.endpoint_id}`)
              // An endpoint that is back after a while is sent at once what has waited for a retry.
              if (failing_since !== null && state === "succeeded")
                yield* db.run(sql`update webhook_deliveries set retry_at = null where endpoint_id = ${delivery.endpoint_id}
                  and state = 'pending' and retry_at <= ${yield* waitsUntil(failing_since)}`)
              if (disable === null) return end
              yield* db.run(sql`update webhook_endpoints set state = 'disabled', disabled_reason = ${disable}
                where id = ${delivery.endpoint_id}`)
              yield* disabled(disable)
              return end
            })
          )
      })
    })
  )
}

/** A hold ends when nothing was written under it for so long. An attempt takes half of that at most. */
const holdMs = 30_000

interface HeldRow {
  readonly failing_since: Timestamp | null
}

/**
 * The end of the waits that are over once something gets through: those that are up to four times as long as nothing did. Where an endpoint
 * takes most deliveries and refuses one of them, that one keeps to its back-off.
 */
const waitsUntil = (failingSince: Timestamp): Effect.Effect<Timestamp> =>
  Effect.flatMap(now, (at) => fromNow(4 * Math.max(0, toMillis(at) - toMillis(failingSince))))
