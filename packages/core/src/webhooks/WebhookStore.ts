import type { Fragment } from "@effect/sql/Statement"
import { newId, WebhookDeliveryId, type WebhookEndpointId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest, StatePageRequest } from "@reins/base/domain/Page"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { Followed } from "../events/Follower.js"
import { FollowerStore } from "../events/FollowerStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import type {
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryState,
  WebhookDisabledReason,
  WebhookEndpoint,
  WebhookEndpointState
} from "./Webhook.js"

/** An endpoint as it is stored. Its secrets are sealed. */
export interface EndpointRow {
  readonly id: WebhookEndpointId
  readonly workspace_id: WorkspaceId
  readonly url: string
  readonly description: string | null
  readonly types: string | null
  readonly project_id: string | null
  readonly label: string | null
  readonly state: WebhookEndpointState
  readonly disabled_reason: WebhookDisabledReason | null
  readonly failing_since: Timestamp | null
  readonly paused_until: Timestamp | null
  readonly secret: string
  readonly previous_secret: string | null
  readonly previous_until: Timestamp | null
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
}

/** The follower that makes the deliveries of endpoints. Its keys are their ids. */
export const followerName = "webhooks"

/** A delivery to be. */
export type NewWebhookDelivery = Pick<WebhookDelivery, "event_id" | "position" | "seq" | "session_id" | "type">

/** Deliveries of an endpoint by the time at which they were made, and by their end. */
export interface EndedDeliveries {
  readonly state: Exclude<WebhookDeliveryState, "pending">
  readonly since: Timestamp
  /** Exclusive. */
  readonly until: Timestamp | undefined
}

/** The rows of endpoints, deliveries and attempts, as callers see them. `DeliveryQueue` has what the couriers do. */
export class WebhookStore extends Context.Tag("@reins/core/webhooks/WebhookStore")<
  WebhookStore,
  {
    /** The endpoints of a workspace, newest first. */
    readonly list: (
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<WebhookEndpoint>, ReinsError<"invalid_cursor">>
    readonly count: (workspaceId: string) => Effect.Effect<number>
    readonly find: (id: string) => Effect.Effect<EndpointRow, ReinsError<"not_found">>
    /** `find`. Other commits cannot change the endpoint until this one ends. */
    readonly lock: (id: string) => Effect.Effect<EndpointRow, ReinsError<"not_found">, Commit>
    /** The endpoint as a caller sees it. */
    readonly toEndpoint: (row: EndpointRow) => Effect.Effect<WebhookEndpoint>
    readonly insert: (row: EndpointRow) => Effect.Effect<void, never, Commit>
    readonly update: (id: WebhookEndpointId, changes: Partial<EndpointRow>) => Effect.Effect<void, never, Commit>
    /** Removes an endpoint with all of its deliveries. */
    readonly remove: (id: WebhookEndpointId) => Effect.Effect<void, never, Commit>
    /** The enabled endpoints of the installation, with their workspaces. */
    readonly enabled: Effect.Effect<ReadonlyArray<Followed>>
    readonly findEnabled: (id: string) => Effect.Effect<EndpointRow | undefined>
    /** The deliveries of an endpoint, newest first. */
    readonly deliveries: (
      id: WebhookEndpointId,
      page: StatePageRequest<WebhookDeliveryState>
    ) => Effect.Effect<Page<WebhookDelivery>, ReinsError<"invalid_cursor">>
    readonly findDelivery: (id: string) => Effect.Effect<WebhookDelivery, ReinsError<"not_found">>
    /** The newest 50 attempts of a delivery, in their order. */
    readonly attempts: (id: WebhookDeliveryId) => Effect.Effect<ReadonlyArray<WebhookAttempt>>
    /** Lets a delivery be attempted at once, whether it waits or has ended. */
    readonly again: (id: WebhookDeliveryId) => Effect.Effect<void, never, Commit>
    /** Lets everything that waits for a retry be attempted at once. */
    readonly endWaits: (id: WebhookEndpointId) => Effect.Effect<void, never, Commit>
    /** `again` for deliveries that have ended; gives their number. */
    readonly allAgain: (id: WebhookEndpointId, which: EndedDeliveries) => Effect.Effect<number, never, Commit>
    readonly insertDelivery: (
      id: WebhookEndpointId,
      delivery: NewWebhookDelivery
    ) => Effect.Effect<WebhookDelivery, never, Commit>
    /** The numbers of deliveries that are still to get through, of the whole installation, by the state of their endpoints. */
    readonly countPending: Effect.Effect<
      ReadonlyArray<{ readonly state: WebhookEndpointState; readonly count: number }>
    >
    /** Deletes the deliveries that ended over 30 days ago. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    WebhookStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const positions = (yield* FollowerStore)(followerName)

      const toEndpoint = Effect.fnUntraced(function* (row: EndpointRow) {
        const position = (yield* positions.find(row.id)) ?? 0
        const waiting = yield* db.first(sql<{ count: number }>`select cast(count(*) as integer) as count
          from webhook_deliveries where endpoint_id = ${row.id} and state = 'pending'`)
        return endpointOf(row, { pending: waiting?.count ?? 0, position, at: yield* now })
      })

      const first = (id: string, rest: Fragment) =>
        db.first(sql<EndpointRow>`select ${sql.literal(columns)} from webhook_endpoints where id = ${id}${rest}`)

      return WebhookStore.of({
        list: Effect.fnUntraced(function* (workspaceId, request) {
          const { before, limit } = yield* Keyset.descending(request)
          const rows = yield* db.all(sql<EndpointRow>`select ${sql.literal(columns)} from webhook_endpoints
            where workspace_id = ${workspaceId} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(yield* Effect.forEach(rows, toEndpoint), limit, ({ id }) => id)
        }),
        count: (workspaceId) =>
          Effect.map(
            db.first(sql<{ count: number }>`select cast(count(*) as integer) as count from webhook_endpoints
              where workspace_id = ${workspaceId}`),
            (row) => row?.count ?? 0
          ),
        find: (id) => Effect.flatMap(first(id, sql``), requireExisting),
        lock: (id) => Effect.flatMap(first(id, db.forUpdate), requireExisting),
        toEndpoint,
        insert: (row) => db.run(sql`insert into webhook_endpoints ${sql.insert({ ...row })}`),
        update: (id, changes) =>
          db.run(sql`update webhook_endpoints set ${sql.update({ ...changes })} where id = ${id}`),
        remove: Effect.fnUntraced(function* (id) {
          yield* db.run(sql`delete from webhook_attempts where delivery_id in
            (select id from webhook_deliveries where endpoint_id = ${id})`)
          yield* db.run(sql`delete from webhook_deliveries where endpoint_id = ${id}`)
          yield* db.run(sql`delete from webhook_endpoints where id = ${id}`)
        }),
        enabled: db.all(sql<Followed>`select id as key, workspace_id as "workspaceId" from webhook_endpoints
          where state = 'enabled' order by id`),
        findEnabled: (id) => first(id, sql` and state = 'enabled'`),
        deliveries: Effect.fnUntraced(function* (id, request) {
          const { before, limit } = yield* Keyset.descending(request)
          const { state } = request
          const rows = yield* db.all(sql<WebhookDelivery>`select ${sql.literal(deliveryColumns)} from webhook_deliveries
            where endpoint_id = ${id} and id < ${before} ${state === undefined ? sql.literal("") : sql`and state = ${state}`}
            order by id desc limit ${limit + 1}`)
          return Keyset.page(rows, limit, (delivery) => delivery.id)
        }),
        findDelivery: (id) =>
          Effect.flatMap(
            db.first(
              sql<WebhookDelivery>`select ${sql.literal(deliveryColumns)} from webhook_deliveries where id = ${id}`
            ),
            requireExisting
          ),
        attempts: (id) =>
          Effect.map(
            db.all(sql<WebhookAttempt>`select ordinal, started_at, duration_ms, status, error, answer
              from webhook_attempts where delivery_id = ${id} order by ordinal desc limit 50`),
            (rows) => rows.toReversed()
          ),
        again: (id) =>
          db.run(sql`update webhook_deliveries set state = 'pending', retry_at = null, finished_at = null,
            series_from = case when state = 'pending' then series_from else attempt_count end where id = ${id}`),
        endWaits: (id) =>
          db.run(sql`update webhook_deliveries set retry_at = null
            where endpoint_id = ${id} and state = 'pending' and retry_at is not null`),
        allAgain: Effect.fnUntraced(function* (id, { since, state, until }) {
          const isMeant = sql.and([
            sql`endpoint_id = ${id}`,
            sql`state = ${state}`,
            sql`created_at >= ${since}`,
            ...(until === undefined ? [] : [sql`created_at < ${until}`])
          ])
          const meant = yield* db.first(sql<{ count: number }>`select cast(count(*) as integer) as count
            from webhook_deliveries where ${isMeant}`)
          yield* db.run(sql`update webhook_deliveries set state = 'pending', retry_at = null, finished_at = null,
            series_from = attempt_count where ${isMeant}`)
          return meant?.count ?? 0
        }),
        insertDelivery: Effect.fnUntraced(function* (id, delivery) {
          const row = yield* deliveryRow(id, delivery)
          yield* db.run(sql`insert into webhook_deliveries ${sql.insert(row)}`)
          return { ...row, retry_at: null, finished_at: null }
        }),
        countPending: db.all(sql<{
          state: WebhookEndpointState
          count: number
        }>`select webhook_endpoints.state as state,
            cast(count(*) as integer) as count
          from webhook_deliveries join webhook_endpoints on webhook_endpoints.id = endpoint_id
          where webhook_deliveries.state = 'pending' group by webhook_endpoints.state`),
        purge: Effect.flatMap(fromNow(-keptMs), (before) =>
          Effect.zipRight(
            db.run(sql`delete from webhook_attempts where delivery_id in
              (select id from webhook_deliveries where finished_at < ${before})`),
            db.run(sql`delete from webhook_deliveries where finished_at < ${before}
              and not exists (select 1 from webhook_attempts where delivery_id = webhook_deliveries.id)`)
          )
        )
      })
    })
  )
}

/** A new delivery as a row. */
export const deliveryRow = Effect.fnUntraced(function* (endpoint_id: WebhookEndpointId, delivery: NewWebhookDelivery) {
  return {
    id: yield* newId(WebhookDeliveryId),
    endpoint_id,
    ...delivery,
    state: "pending" as const,
    attempt_count: 0,
    created_at: yield* now
  }
})

const requireExisting = <Row>(row: Row | undefined) =>
  row === undefined ? Effect.fail(notFound()) : Effect.succeed(row)

const keptMs = 30 * 24 * 60 * 60 * 1000

const columns = `id, workspace_id, url, description, types, project_id, label, state, disabled_reason, failing_since, paused_until,
  secret, previous_secret, previous_until, created_at, updated_at`

/** The columns of a delivery that callers see. */
const deliveryColumns = `id, endpoint_id, event_id, type, session_id, seq, position, state, attempt_count, retry_at, created_at,
  finished_at`

const endpointOf = (
  { label, paused_until, previous_secret: _, previous_until, project_id, secret: __, types, ...row }: EndpointRow,
  { at, ...counts }: { readonly pending: number; readonly position: number; readonly at: Timestamp }
) =>
  // Boundary: the columns hold what the schema of the input let in.
  ({
    ...row,
    types: types === null ? null : JSON.parse(types),
    project_id,
    label,
    paused_until: paused_until !== null && paused_until > at ? paused_until : null,
    ...counts,
    secret_overlaps_until: previous_until !== null && previous_until > at ? previous_until : null
  }) as WebhookEndpoint
