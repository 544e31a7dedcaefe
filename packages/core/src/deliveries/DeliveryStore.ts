import { Observer } from "@reins/base/base/Observer"
import { fn } from "@reins/base/base/Traced"
import type { Actor, EventType, NewEvent } from "@reins/base/domain/Event"
import type { GitIdentity } from "@reins/base/domain/GitIdentity"
import type { ChangesetId, ConnectionId, DeliveryId, SessionId, SigningKeyId } from "@reins/base/domain/Ids"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import type { DeliveryObstacle } from "@reins/machine/git/findings/Obstacle"
import { Context, Effect, Layer } from "effect"
import type { DeliveryTransport } from "../projects/Project.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { andState } from "../store/StateList.js"
import {
  type Delivery,
  type DeliveryOnto,
  type DeliveryReason,
  type DeliveryState,
  type DeliveryStep,
  deliveryStates,
  type UpdateStrategy
} from "./Delivery.js"
import { DeliveryListeners } from "./DeliveryListeners.js"
import {
  type BranchMerge,
  type BranchReads,
  branchReads,
  type DeliveryRow,
  toDelivery,
  toDeliveryOrNone
} from "./DeliveryRows.js"

/** The identity of a delivery: there is one of a changeset for each transport and branch. */
export interface DeliveryTarget {
  readonly changesetId: ChangesetId
  readonly transport: DeliveryTransport
  /** The name of the branch, without `refs/heads/`. */
  readonly targetRef: string
}

/** The parts of a delivery that another attempt may have otherwise. */
export interface DeliveryMeans {
  /** Null takes the git credential of the project. */
  readonly connectionId: ConnectionId | null
  readonly updateStrategy: UpdateStrategy
  readonly onto: DeliveryOnto
  readonly allow: ReadonlyArray<DeliveryObstacle>
}

/** The columns that a new delivery starts with. */
export interface NewDelivery extends DeliveryTarget, DeliveryMeans {
  readonly id: DeliveryId
  readonly sessionId: SessionId
  readonly title: string | null
  readonly author: GitIdentity | null
  readonly trailers: ReadonlyArray<string>
  readonly signs: boolean
  readonly keyId: SigningKeyId | null
  readonly remoteUrl: string | null
  /** Absent for an ordinary commit. */
  readonly merges?: BranchMerge | undefined
}

/** A move of a delivery. An absent reason and absent conflicts become empty; other fields that are absent stay as they are. */
export interface DeliveryChange {
  readonly state: DeliveryState
  readonly reason?: DeliveryReason
  readonly reasonMessage?: string
  readonly conflicts?: ReadonlyArray<string>
  readonly commit?: string
  readonly parents?: ReadonlyArray<string>
  /** Null says that the branch is not there. */
  readonly observedHead?: string | null
  readonly patch?: string
}

/** The rows of deliveries, their states and steps, and the events that tell of them. */
export class DeliveryStore extends Context.Tag("@reins/core/deliveries/DeliveryStore")<
  DeliveryStore,
  BranchReads & {
    /** Reads a delivery without a check of access. */
    readonly find: (deliveryId: string) => Effect.Effect<Delivery | undefined>
    /** The deliveries of a changeset, newest first. */
    readonly list: (
      changesetId: ChangesetId,
      page: StatePageRequest<DeliveryState>
    ) => Effect.Effect<Page<Delivery>, ReinsError<"invalid_cursor">>
    /** The one delivery of a changeset to a target. */
    readonly findOf: (target: DeliveryTarget) => Effect.Effect<Delivery | undefined>
    /** Adds a pending delivery and gives it back. */
    readonly insert: (delivery: NewDelivery, actor: Actor) => Effect.Effect<Delivery, never, Commit>
    /** Gives a delivery other means for its next attempt. */
    readonly equip: (deliveryId: DeliveryId, means: DeliveryMeans) => Effect.Effect<void, never, Commit>
    /** True while a delivery of the session waits or runs. */
    readonly isUnderWay: (sessionId: SessionId) => Effect.Effect<boolean>
    /** Sends a delivery to another URL for its next attempt. Nothing is known of the branch there. */
    readonly readdress: (deliveryId: DeliveryId, remoteUrl: string) => Effect.Effect<void, never, Commit>
    /** Gives a delivery another branch, to which no other delivery of its changeset goes. */
    readonly retarget: (deliveryId: DeliveryId, targetRef: string) => Effect.Effect<void, never, Commit>
    /** Chooses the key that signs the commit of a delivery. */
    readonly signWith: (deliveryId: DeliveryId, keyId: SigningKeyId) => Effect.Effect<void, never, Commit>
    /** Writes down the head of the branch, unless the delivery has changed since `delivery` was read. */
    readonly observe: (delivery: Delivery, head: string | null) => Effect.Effect<void, never, Commit>
    /** Adds a step to the evidence and tells it. */
    readonly addStep: (
      deliveryId: DeliveryId,
      step: Omit<DeliveryStep, "recorded_at">,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Moves a delivery and tells it. Dies for a move that `deliveryStates` does not draw. */
    readonly move: (deliveryId: DeliveryId, change: DeliveryChange, actor: Actor) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    DeliveryStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const observer = yield* Observer
      const listeners = yield* DeliveryListeners
      const sql = db.sql

      const locked = Effect.fnUntraced(function* (id: string) {
        const row = yield* db.first(sql<DeliveryRow>`select * from deliveries where id = ${id}${db.forUpdate}`)
        return row === undefined ? yield* Effect.dieMessage(`no delivery ${id}`) : toDelivery(row)
      })
      const tell = (delivery: Delivery, type: DeliveryEventType, actor: Actor, step?: DeliveryStep) =>
        journal.append(delivery.session_id, actor, [eventOf(delivery, type, step ?? null)])

      return DeliveryStore.of({
        ...branchReads(db),
        find: (id) =>
          Effect.map(db.first(sql<DeliveryRow>`select * from deliveries where id = ${id}`), toDeliveryOrNone),
        list: fn("DeliveryStore.list")(function* (changesetId, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<DeliveryRow>`select * from deliveries
            where changeset_id = ${changesetId} and id < ${before} ${andState(db, page.state)} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toDelivery), limit, (delivery) => delivery.id)
        }),
        findOf: ({ changesetId, targetRef, transport }) =>
          Effect.map(
            db.first(sql<DeliveryRow>`select * from deliveries
              where changeset_id = ${changesetId} and transport = ${transport} and target_ref = ${targetRef}`),
            toDeliveryOrNone
          ),
        insert: fn("DeliveryStore.insert")(function* (delivery, actor) {
          yield* db.run(sql`insert into deliveries ${sql.insert(newRow(delivery, yield* now))}`)
          const inserted = yield* locked(delivery.id)
          yield* tell(inserted, "delivery.requested", actor)
          return inserted
        }),
        equip: fn("DeliveryStore.equip")(function* (id, means) {
          yield* db.run(
            sql`update deliveries set ${sql.update({
              connection_id: means.connectionId,
              update_strategy: means.updateStrategy,
              onto: means.onto,
              allowed: JSON.stringify(means.allow),
              updated_at: yield* now
            })}, version = version + 1 where id = ${id}`
          )
        }),
        isUnderWay: (sessionId) =>
          Effect.map(
            db.first(sql<{ id: string }>`select id from deliveries
              where session_id = ${sessionId} and state in ('pending', 'executing') limit 1`),
            (row) => row !== undefined
          ),
        readdress: fn("DeliveryStore.readdress")(function* (id, remoteUrl) {
          yield* db.run(
            sql`update deliveries set remote_url = ${remoteUrl}, observed_head = null, updated_at = ${yield* now}, version = version + 1 where id = ${id}`
          )
        }),
        retarget: fn("DeliveryStore.retarget")(function* (id, targetRef) {
          yield* db.run(
            sql`update deliveries set target_ref = ${targetRef}, updated_at = ${yield* now}, version = version + 1 where id = ${id}`
          )
        }),
        signWith: fn("DeliveryStore.signWith")(function* (id, keyId) {
          yield* db.run(sql`update deliveries set key_id = ${keyId}, updated_at = ${yield* now}, version = version + 1
            where id = ${id}`)
        }),
        observe: fn("DeliveryStore.observe")(function* (delivery, head) {
          yield* db.run(sql`update deliveries set observed_head = ${head}, updated_at = ${yield* now},
            version = version + 1 where id = ${delivery.id} and version = ${delivery.version}`)
        }),
        addStep: fn("DeliveryStore.addStep")(function* (id, step, actor) {
          const delivery = yield* locked(id)
          const recorded = { ...step, recorded_at: yield* now }
          const steps = JSON.stringify([...delivery.steps, recorded])
          yield* db.run(sql`update deliveries set steps = ${steps} where id = ${id}`)
          yield* tell(delivery, "delivery.progressed", actor, recorded)
        }),
        move: fn("DeliveryStore.move")(function* (id, change, actor) {
          const delivery = yield* locked(id)
          yield* Effect.orDie(deliveryStates.check(delivery.state, change.state))
          const columns = { ...changedColumns(delivery, change), updated_at: yield* now }
          yield* db.run(sql`update deliveries set ${sql.update(columns)}, version = version + 1 where id = ${id}`)
          const moved = yield* locked(id)
          yield* tell(moved, eventTypes[change.state], actor)
          if (moved.state === "succeeded") yield* listeners.delivered(moved)
          else if (moved.state !== "pending" && moved.state !== "executing") yield* listeners.undelivered(moved)
          if (change.state !== "pending" && change.state !== "executing")
            yield* journal.afterCommit(observer.deliveryEnded(moved))
        })
      })
    })
  )
}

const newRow = (delivery: NewDelivery, at: string) => ({
  id: delivery.id,
  changeset_id: delivery.changesetId,
  session_id: delivery.sessionId,
  transport: delivery.transport,
  connection_id: delivery.connectionId,
  target_ref: delivery.targetRef,
  title: delivery.title,
  author_name: delivery.author?.name ?? null,
  author_email: delivery.author?.email ?? null,
  trailers: JSON.stringify(delivery.trailers),
  signs: delivery.signs ? 1 : 0,
  key_id: delivery.keyId,
  update_strategy: delivery.updateStrategy,
  onto: delivery.onto,
  merges: delivery.merges === undefined ? null : JSON.stringify(delivery.merges),
  allowed: JSON.stringify(delivery.allow),
  state: "pending",
  remote_url: delivery.remoteUrl,
  parents: "[]",
  conflicts: "[]",
  steps: "[]",
  version: 1,
  created_at: at,
  updated_at: at
})

const changedColumns = (delivery: Delivery, change: DeliveryChange) => ({
  state: change.state,
  reason: change.reason ?? null,
  reason_message: change.reasonMessage ?? null,
  conflicts: JSON.stringify(change.conflicts ?? []),
  commit_sha: change.commit ?? delivery.commit,
  parents: JSON.stringify(change.parents ?? delivery.parents),
  patch: change.patch ?? delivery.patch,
  observed_head: change.observedHead === undefined ? delivery.observed_head : change.observedHead
})

type DeliveryEventType = EventType & `delivery.${string}`

const eventTypes = {
  pending: "delivery.requested",
  executing: "delivery.progressed",
  succeeded: "delivery.succeeded",
  failed: "delivery.failed",
  blocked: "delivery.blocked",
  cancelled: "delivery.cancelled"
} as const satisfies Record<DeliveryState, DeliveryEventType>

const eventOf = (delivery: Delivery, type: DeliveryEventType, step: DeliveryStep | null): NewEvent => ({
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
})
