import { type HookId, HookReceiptId, newId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import type { Hook, HookKind, HookReceipt, HookRegistration, HookState, Told } from "./Hook.js"

/** A hook as it is stored. Its secrets are sealed. */
export interface HookRow {
  readonly id: HookId
  readonly workspace_id: WorkspaceId
  readonly kind: HookKind
  readonly label: string
  readonly state: HookState
  readonly secret: string
  readonly previous_secret: string | null
  readonly previous_until: Timestamp | null
  /** The `StoredRegistration` as JSON; null for none. */
  readonly registration: string | null
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
}

/** A registration as it is stored. */
export interface StoredRegistration extends HookRegistration {
  /** Grows with each change of what the forge should have. */
  readonly version: number
}

export const registrationOf = ({ registration }: Pick<HookRow, "registration">): StoredRegistration | null =>
  registration === null ? null : JSON.parse(registration)

const shownRegistration = (row: HookRow): HookRegistration | null => {
  const stored = registrationOf(row)
  if (stored === null) return null
  const { version: _, ...shown } = stored
  return shown
}

/** A receipt as it is stored. Its body is sealed. */
export interface ReceiptRow
  extends Pick<HookReceipt, "created_at" | "delivery_id" | "event" | "hook_id" | "id" | "runs" | "size"> {
  /** `accepted` or `ignored`, which every release knows. `told` says more. */
  readonly outcome: "accepted" | "ignored"
  /** Tells signed bodies apart. Empty for a copy, and for a body that was not read. */
  readonly digest: string
  /** Null for one that is not kept. */
  readonly body: string | null
  /** The `Told` as JSON; null for a receipt of an older release. */
  readonly told: string | null
  /** 1 for a call that nothing proved. */
  readonly unproven: number | null
}

/** A receipt that is to be written. */
export type NewReceipt = Pick<ReceiptRow, "body" | "delivery_id" | "digest" | "event" | "hook_id" | "size">

export const toldOf = ({ outcome, told }: Pick<ReceiptRow, "outcome" | "told">) =>
  told === null
    ? { outcome, proven: true, queued: null, dropped: null, reason: null, reason_message: null }
    : (JSON.parse(told) as Told)

/** The receipts of one hook that are kept of calls that nothing proved. */
const mostUnproven = 200

const sameBodyMs = 5 * 60_000

/** The rows of hooks and their receipts. */
export class HookStore extends Context.Tag("@reins/core/hooks/HookStore")<
  HookStore,
  {
    /** The hooks of a workspace, newest first. */
    readonly list: (workspaceId: string, page: PageRequest) => Effect.Effect<Page<Hook>, ReinsError<"invalid_cursor">>
    readonly count: (workspaceId: string) => Effect.Effect<number>
    readonly find: (id: string) => Effect.Effect<HookRow | undefined>
    /** `find`. Other commits cannot change the hook until this one ends, and its deliveries are received one by one. */
    readonly lock: (id: string) => Effect.Effect<HookRow, ReinsError<"not_found">, Commit>
    /** The hook as a caller sees it. */
    readonly toHook: (row: HookRow) => Effect.Effect<Hook>
    readonly insert: (row: HookRow) => Effect.Effect<void, never, Commit>
    readonly update: (id: HookId, changes: Partial<HookRow>) => Effect.Effect<void, never, Commit>
    /** Removes a hook with its receipts. */
    readonly remove: (id: HookId) => Effect.Effect<void, never, Commit>
    /** The receipts of a hook, newest first. */
    readonly receipts: (id: HookId, page: PageRequest) => Effect.Effect<Page<HookReceipt>, ReinsError<"invalid_cursor">>
    readonly findReceipt: (id: string) => Effect.Effect<ReceiptRow | undefined>
    /** The receipt of a delivery. */
    readonly receiptOf: (id: HookId, deliveryId: string) => Effect.Effect<ReceiptRow | undefined>
    /** Writes a receipt, which nothing has come of yet. */
    readonly insertReceipt: (receipt: NewReceipt) => Effect.Effect<ReceiptRow, never, Commit>
    /** The receipt of a body with the same signature that came in the last 5 minutes. */
    readonly receiptLike: (id: HookId, digest: string) => Effect.Effect<ReceiptRow | undefined>
    readonly removeReceipt: (id: HookReceiptId) => Effect.Effect<void, never, Commit>
    /** Writes down what came of a receipt. Of calls that nothing proved the newest 200 of a hook stay. */
    readonly settle: (
      row: Pick<ReceiptRow, "hook_id" | "id">,
      told: Told,
      runs: number
    ) => Effect.Effect<void, never, Commit>
    /** Deletes the receipts that are older than 7 days. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    HookStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db

      const find = (id: string) => db.first(sql<HookRow>`select * from hooks where id = ${id}`)
      const toHook = Effect.fnUntraced(function* (row: HookRow) {
        const newest = yield* db.first(sql<{ created_at: Timestamp }>`select created_at from hook_receipts
          where hook_id = ${row.id} order by id desc limit 1`)
        return hookOf(row, newest?.created_at ?? null, yield* now)
      })

      return HookStore.of({
        find,
        toHook,
        list: Effect.fnUntraced(function* (workspaceId, request) {
          const { before, limit } = yield* Keyset.descending(request)
          const rows = yield* db.all(sql<HookRow>`select * from hooks
            where workspace_id = ${workspaceId} and id < ${before} order by id desc limit ${limit + 1}`)
          const page = Keyset.page(rows, limit, ({ id }) => id)
          return { items: yield* Effect.forEach(page.items, toHook), next_cursor: page.next_cursor }
        }),
        count: (workspaceId) =>
          Effect.map(
            db.first(sql<{ count: number }>`select cast(count(*) as integer) as count from hooks
              where workspace_id = ${workspaceId}`),
            (row) => row?.count ?? 0
          ),
        lock: (id) =>
          Effect.flatMap(db.first(sql<HookRow>`select * from hooks where id = ${id}${db.forUpdate}`), (row) =>
            row === undefined ? Effect.fail(notFound()) : Effect.succeed(row)
          ),
        insert: (row) => db.run(sql`insert into hooks ${sql.insert({ ...row })}`),
        update: (id, changes) => db.run(sql`update hooks set ${sql.update({ ...changes })} where id = ${id}`),
        remove: (id) =>
          Effect.zipRight(
            db.run(sql`delete from hook_receipts where hook_id = ${id}`),
            db.run(sql`delete from hooks where id = ${id}`)
          ),
        receipts: Effect.fnUntraced(function* (id, request) {
          const { before, limit } = yield* Keyset.descending(request)
          const rows = yield* db.all(sql<ShownRow>`select ${sql.literal(shown)} from hook_receipts
            where hook_id = ${id} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(
            rows.map(({ replayable, told, ...row }) => ({
              ...row,
              ...toldOf({ ...row, told }),
              replayable: replayable === 1
            })),
            limit,
            (receipt) => receipt.id
          )
        }),
        findReceipt: (id) => db.first(sql<ReceiptRow>`select * from hook_receipts where id = ${id}`),
        receiptOf: (id, deliveryId) =>
          db.first(sql<ReceiptRow>`select * from hook_receipts where hook_id = ${id} and delivery_id = ${deliveryId}`),
        insertReceipt: Effect.fnUntraced(function* (receipt) {
          const id = yield* newId(HookReceiptId)
          const row: ReceiptRow = {
            ...receipt,
            id,
            outcome: "ignored",
            told: null,
            unproven: null,
            runs: 0,
            created_at: yield* now
          }
          yield* db.run(sql`insert into hook_receipts ${sql.insert({ ...row })}`)
          return row
        }),
        receiptLike: (id, digest) =>
          Effect.flatMap(fromNow(-sameBodyMs), (since) =>
            db.first(sql<ReceiptRow>`select * from hook_receipts
              where hook_id = ${id} and digest = ${digest} and created_at > ${since} order by id desc limit 1`)
          ),
        removeReceipt: (id) => db.run(sql`delete from hook_receipts where id = ${id}`),
        settle: Effect.fnUntraced(function* ({ hook_id, id }, told, runs) {
          const outcome = told.outcome === "accepted" ? "accepted" : "ignored"
          yield* db.run(sql`update hook_receipts set outcome = ${outcome}, runs = ${runs}, told = ${JSON.stringify(told)},
            unproven = ${told.proven ? null : 1} where id = ${id}`)
          if (told.proven) return
          const kept = yield* db.all(sql<{ id: string }>`select id from hook_receipts
            where hook_id = ${hook_id} and unproven = 1 order by id desc limit ${mostUnproven + 1}`)
          const last = kept[mostUnproven]
          if (last !== undefined)
            yield* db.run(
              sql`delete from hook_receipts where hook_id = ${hook_id} and unproven = 1 and id <= ${last.id}`
            )
        }),
        purge: Effect.flatMap(fromNow(-keptMs), (before) =>
          db.run(sql`delete from hook_receipts where created_at < ${before}`)
        )
      })
    })
  )
}

const keptMs = 7 * 24 * 60 * 60 * 1000

/** The columns of a receipt that callers see, without its body. */
const shown = `id, hook_id, delivery_id, event, outcome, runs, size, told,
  case when body is null then 0 else 1 end as replayable, created_at`

interface ShownRow extends Omit<ReceiptRow, "body" | "digest" | "unproven"> {
  readonly replayable: number
}

/** A receipt as callers see it. */
export const toReceipt = ({ body, digest: _, told, unproven: __, ...row }: ReceiptRow): HookReceipt => ({
  ...row,
  ...toldOf({ ...row, told }),
  replayable: body !== null
})

/** The path at which the world calls a hook. */
export const hookPath = (id: string): string => `/api/hooks/${id}`

const hookOf = (row: HookRow, last_received_at: Timestamp | null, at: Timestamp): Hook => {
  const { created_at, id, kind, label, previous_until, state, updated_at, workspace_id } = row
  return {
    id,
    workspace_id,
    kind,
    label,
    state,
    path: hookPath(id),
    registration: shownRegistration(row),
    secret_overlaps_until: previous_until !== null && previous_until > at ? previous_until : null,
    last_received_at,
    created_at,
    updated_at
  }
}
