import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer } from "effect"
import { fn } from "../base/Traced.js"
import {
  type Delivery,
  type DeliveryReason,
  type DeliveryState,
  type DeliveryStep,
  deliveryStates,
  type UpdateStrategy
} from "../domain/Delivery.js"
import type { Actor, EventType } from "../domain/Event.js"
import type { ChangesetId, ConnectionId, DeliveryId, SessionId } from "../domain/Ids.js"
import type { DeliveryTransport } from "../domain/Project.js"
import { now } from "../domain/Timestamp.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"

export interface NewDelivery {
  readonly id: DeliveryId
  readonly changesetId: ChangesetId
  readonly sessionId: SessionId
  readonly transport: DeliveryTransport
  readonly connectionId: ConnectionId | null
  readonly targetRef: string
  readonly title: string | null
  readonly updateStrategy: UpdateStrategy
  readonly remoteUrl: string | null
}

export interface DeliveryChange {
  readonly state: DeliveryState
  readonly reason?: DeliveryReason
  readonly reasonMessage?: string
  readonly commit?: string
  /** Null says that the branch is not there; absent, that nobody looked. */
  readonly observedHead?: string | null
  readonly patch?: string
}

/** The rows of deliveries and the events that tell of them. */
export class DeliveryStore extends Context.Tag("@reins/core/changes/DeliveryStore")<
  DeliveryStore,
  {
    readonly find: (deliveryId: string) => Effect.Effect<Delivery | undefined>
    readonly select: (where: Fragment) => Effect.Effect<ReadonlyArray<Delivery>>

    readonly insert: (delivery: NewDelivery, actor: Actor) => Effect.Effect<Delivery, never, Commit>
    /** Gives a delivery other means for its next attempt. */
    readonly equip: (
      deliveryId: DeliveryId,
      means: { readonly connectionId: ConnectionId | null; readonly updateStrategy: UpdateStrategy }
    ) => Effect.Effect<void, never, Commit>
    /** Where the branch was seen last by any delivery of the session; null when none has seen it. */
    readonly lastObserved: (delivery: Delivery) => Effect.Effect<string | null>
    /** Writes down where the branch is, unless the delivery has changed since `delivery` was read. */
    readonly observe: (delivery: Delivery, head: string | null) => Effect.Effect<void, never, Commit>
    /** Adds to the evidence. */
    readonly addStep: (
      deliveryId: DeliveryId,
      step: Omit<DeliveryStep, "recorded_at">,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Moves a delivery and tells it. Other moves than drawn die. */
    readonly move: (deliveryId: DeliveryId, change: DeliveryChange, actor: Actor) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    DeliveryStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const sql = db.sql

      const find = (id: string) =>
        Effect.map(db.first(sql<DeliveryRow>`select * from deliveries where id = ${id}`), (row) =>
          row === undefined ? undefined : toDelivery(row)
        )
      const locked = Effect.fnUntraced(function* (id: string) {
        const row = yield* db.first(sql<DeliveryRow>`select * from deliveries where id = ${id}${db.forUpdate}`)
        return row === undefined ? yield* Effect.dieMessage(`no delivery ${id}`) : toDelivery(row)
      })
      const tell = (
        delivery: Delivery,
        type: EventType & `delivery.${string}`,
        actor: Actor,
        step: DeliveryStep | null = null
      ) =>
        journal.append(delivery.session_id, actor, [
          {
            type,
            payload: {
              state: delivery.state,
              reason: delivery.reason,
              reason_message: delivery.reason_message,
              target_ref: delivery.target_ref,
              commit: delivery.commit,
              step
            },
            subjects: { delivery_id: delivery.id, changeset_id: delivery.changeset_id }
          }
        ])

      return DeliveryStore.of({
        find,
        select: (where) =>
          Effect.map(db.all(sql<DeliveryRow>`select * from deliveries where ${where}`), (rows) => rows.map(toDelivery)),
        insert: fn("DeliveryStore.insert")(function* (delivery, actor) {
          const at = yield* now
          yield* db.run(
            sql`insert into deliveries ${sql.insert({
              id: delivery.id,
              changeset_id: delivery.changesetId,
              session_id: delivery.sessionId,
              transport: delivery.transport,
              connection_id: delivery.connectionId,
              target_ref: delivery.targetRef,
              title: delivery.title,
              update_strategy: delivery.updateStrategy,
              state: "pending",
              remote_url: delivery.remoteUrl,
              steps: "[]",
              version: 1,
              created_at: at,
              updated_at: at
            })}`
          )
          const inserted = yield* locked(delivery.id)
          yield* tell(inserted, "delivery.requested", actor)
          return inserted
        }),
        equip: fn("DeliveryStore.equip")(function* (id, means) {
          yield* db.run(
            sql`update deliveries set ${sql.update({
              connection_id: means.connectionId,
              update_strategy: means.updateStrategy,
              updated_at: yield* now
            })}, version = version + 1 where id = ${id}`
          )
        }),
        lastObserved: (delivery) =>
          Effect.map(
            db.first(sql<{ observed_head: string }>`select observed_head from deliveries
            where session_id = ${delivery.session_id} and target_ref = ${delivery.target_ref}
              and remote_url = ${delivery.remote_url} and observed_head is not null
            order by updated_at desc, id desc limit 1`),
            (row) => row?.observed_head ?? null
          ),
        observe: fn("DeliveryStore.observe")(function* (delivery, head) {
          yield* db.run(sql`update deliveries set observed_head = ${head}, updated_at = ${yield* now},
            version = version + 1 where id = ${delivery.id} and version = ${delivery.version}`)
        }),
        addStep: fn("DeliveryStore.addStep")(function* (id, step, actor) {
          const delivery = yield* locked(id)
          const recorded = { ...step, recorded_at: yield* now }
          yield* db.run(
            sql`update deliveries set steps = ${JSON.stringify([...delivery.steps, recorded])} where id = ${id}`
          )
          yield* tell(delivery, "delivery.progressed", actor, recorded)
        }),
        move: fn("DeliveryStore.move")(function* (id, change, actor) {
          const delivery = yield* locked(id)
          yield* Effect.orDie(deliveryStates.check(delivery.state, change.state))
          yield* db.run(
            sql`update deliveries set ${sql.update({
              state: change.state,
              reason: change.reason ?? null,
              reason_message: change.reasonMessage ?? null,
              commit_sha: change.commit ?? delivery.commit,
              patch: change.patch ?? delivery.patch,
              observed_head: change.observedHead === undefined ? delivery.observed_head : change.observedHead,
              updated_at: yield* now
            })}, version = version + 1 where id = ${id}`
          )
          yield* tell(yield* locked(id), eventOf[change.state], actor)
        })
      })
    })
  )
}

const eventOf = {
  pending: "delivery.requested",
  executing: "delivery.progressed",
  succeeded: "delivery.succeeded",
  failed: "delivery.failed",
  blocked: "delivery.blocked",
  cancelled: "delivery.cancelled"
} as const satisfies Record<DeliveryState, EventType>

interface DeliveryRow extends Omit<Delivery, "steps" | "commit"> {
  readonly commit_sha: string | null
  readonly steps: string
}

const toDelivery = ({ commit_sha, ...row }: DeliveryRow): Delivery => ({
  ...row,
  commit: commit_sha,
  steps: JSON.parse(row.steps)
})
