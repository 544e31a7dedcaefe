import type { AccountId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import * as Memberships from "../access/Memberships.js"
import type { Followed } from "../events/Follower.js"
import { isInForce } from "../identity/InForce.js"
import { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import type { PushSubscription } from "./PushSubscription.js"

/** A subscription as it is stored. The address of the browser and its keys are sealed, and the digest finds the address again. */
export interface PushRow extends PushSubscription {
  readonly account_id: AccountId
  readonly digest: string
  readonly sealed: string
}

/** A row, and the right of its account to hear of the workspace now. */
export interface StandingRow extends PushRow {
  readonly isStanding: boolean
}

/** The rows of subscriptions. */
export class PushStore extends Context.Tag("@reins/core/push/PushStore")<
  PushStore,
  {
    /** The subscriptions of an account in a workspace, newest first. */
    readonly list: (
      owner: Owner,
      page: PageRequest
    ) => Effect.Effect<Page<PushSubscription>, ReinsError<"invalid_cursor">>
    readonly count: (owner: Owner) => Effect.Effect<number>
    /** The subscription of an address; undefined for a browser that is new. */
    readonly findByDigest: (owner: Owner, digest: string) => Effect.Effect<PushRow | undefined>
    readonly find: (id: string) => Effect.Effect<StandingRow | undefined>
    readonly insert: (row: PushRow) => Effect.Effect<void, never, Commit>
    readonly remove: (id: string) => Effect.Effect<void, never, Commit>
    /** Every subscription as a follower sees it. */
    readonly all: Effect.Effect<ReadonlyArray<Followed>>
  }
>() {
  static readonly layer = Layer.effect(
    PushStore,
    Effect.map(Database, ({ all, first, run, sql }) => {
      const standing = (at: Timestamp) =>
        sql.and([
          Memberships.isMember(sql, "push_subscriptions.workspace_id", "push_subscriptions.account_id"),
          isInForce(sql, { account: sql`push_subscriptions.account_id`, key: null }, at)
        ])
      const isOf = ({ account_id, workspace_id }: Owner) =>
        sql`account_id = ${account_id} and workspace_id = ${workspace_id}`
      return PushStore.of({
        list: Effect.fnUntraced(function* (owner, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* all(sql<PushSubscription>`select id, workspace_id, host, created_at
            from push_subscriptions where ${isOf(owner)} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows, limit, ({ id }) => id)
        }),
        count: (owner) =>
          Effect.map(
            first(sql<{ count: number }>`select cast(count(*) as integer) as count from push_subscriptions
              where ${isOf(owner)}`),
            (row) => row?.count ?? 0
          ),
        findByDigest: (owner, digest) =>
          first(sql<PushRow>`select * from push_subscriptions where ${isOf(owner)} and digest = ${digest}`),
        find: Effect.fnUntraced(function* (id) {
          const row = yield* first(sql<PushRow & { standing: number }>`select push_subscriptions.*,
            case when ${standing(yield* now)} then 1 else 0 end as standing from push_subscriptions where id = ${id}`)
          return row && { ...row, isStanding: Number(row.standing) === 1 }
        }),
        insert: (row) => Effect.zipRight(Commit, run(sql`insert into push_subscriptions ${sql.insert({ ...row })}`)),
        remove: (id) => Effect.zipRight(Commit, run(sql`delete from push_subscriptions where id = ${id}`)),
        all: all(sql<Followed>`select id as key, workspace_id as "workspaceId" from push_subscriptions order by id`)
      })
    })
  )
}

/** An account in a workspace. */
export interface Owner {
  readonly account_id: AccountId
  readonly workspace_id: WorkspaceId
}

export const toSubscription = ({ created_at, host, id, workspace_id }: PushRow): PushSubscription => ({
  id,
  workspace_id,
  host,
  created_at
})
