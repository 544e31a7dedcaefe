import type { ChangesetId, DeliveryId, SessionId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import type { Database } from "../store/Database.js"
import type { Delivery, DeliveryOnto } from "./Delivery.js"

// The rows of deliveries, as their store reads them.

/** A delivery as it is stored. */
export interface DeliveryRow
  extends Omit<
    Delivery,
    "allow" | "steps" | "commit" | "parents" | "conflicts" | "author" | "trailers" | "signs" | "onto"
  > {
  /** Null in the rows of a server that does not know it. */
  readonly allowed: string | null
  readonly commit_sha: string | null
  readonly author_name: string | null
  readonly author_email: string | null
  readonly onto: DeliveryOnto | null
  /** JSON of a `BranchMerge`; null for none. */
  readonly merges: string | null
  readonly trailers: string | null
  readonly signs: number | null
  readonly steps: string
  readonly parents: string | null
  readonly conflicts: string | null
}

/** A commit that a delivery merges into the head of its branch. Its changeset was made of the files of that head. */
export interface BranchMerge {
  readonly other: string
  readonly head: string
  /** The tree of the head. */
  readonly tree: string
}

export const toDelivery = ({
  allowed,
  author_email,
  author_name,
  commit_sha,
  merges: _merges,
  ...row
}: DeliveryRow): Delivery => ({
  ...row,
  author: author_name === null || author_email === null ? null : { name: author_name, email: author_email },
  onto: row.onto ?? "base",
  trailers: listIn(row.trailers),
  signs: row.signs === 1,
  allow: listIn(allowed),
  commit: commit_sha,
  parents: listIn(row.parents),
  conflicts: listIn(row.conflicts),
  steps: JSON.parse(row.steps)
})

/** A list in JSON; null has nothing in it. */
const listIn = (json: string | null) => (json === null ? [] : JSON.parse(json))

export const toDeliveryOrNone = (row: DeliveryRow | undefined): Delivery | undefined =>
  row === undefined ? undefined : toDelivery(row)

/** A delivery with the tree of its changeset. */
export interface EarlierDelivery {
  readonly delivery: Delivery
  readonly tree: string
}

/** A branch of more deliveries is merged by its newest ones. */
const maxEarlier = 100

const isOpen = (sql: Database["Type"]["sql"]) => sql`not exists (select 1 from merge_requests
  where merge_requests.session_id = deliveries.session_id and head_branch = target_ref
    and merge_requests.state in ('merged', 'closed'))`

/** The reads of what the deliveries of a session have brought to a branch. */
export interface BranchReads {
  /** The newest delivered branch of a session on a remote that is neither merged nor closed. A given branch is the answer if it was delivered. */
  readonly openBranch: (
    sessionId: SessionId,
    remoteUrl: string,
    targetRef: string | undefined
  ) => Effect.Effect<string | undefined>
  /** The time at which the newest work of a session was captured that was delivered as a branch, before that of a changeset. */
  readonly deliveredUntil: (sessionId: SessionId, changesetId: ChangesetId) => Effect.Effect<Timestamp | null>
  /** The commits that other deliveries of the session may have pushed to the branch of a delivery, the newest first. */
  readonly earlier: (delivery: Delivery) => Effect.Effect<ReadonlyArray<EarlierDelivery>>
  /** The commit that a delivery merges; undefined for none. */
  readonly mergeOf: (deliveryId: DeliveryId) => Effect.Effect<BranchMerge | undefined>
  /** The deliveries of a session that have reached a branch, the newest first. */
  readonly pushedTo: (sessionId: SessionId, targetRef: string) => Effect.Effect<ReadonlyArray<EarlierDelivery>>
  /** The commit at which any delivery of the session has seen the same branch last; null when none has seen it. */
  readonly lastObserved: (delivery: Delivery) => Effect.Effect<string | null>
}

/** See `BranchReads`. */
export const branchReads = (db: Database["Type"]): BranchReads => {
  const { sql } = db
  return {
    openBranch: (sessionId, remoteUrl, targetRef) =>
      Effect.map(
        db.first(sql<{ target_ref: string }>`select target_ref from deliveries
          where session_id = ${sessionId} and transport = 'git_branch' and remote_url = ${remoteUrl} and state = 'succeeded'
            and ${targetRef === undefined ? isOpen(sql) : sql`target_ref = ${targetRef}`}
          order by id desc limit 1`),
        (row) => row?.target_ref
      ),
    deliveredUntil: (sessionId, changesetId) =>
      Effect.map(
        db.first(sql<{ created_at: Timestamp }>`select changesets.created_at from deliveries
          join changesets on changesets.id = deliveries.changeset_id
          where deliveries.session_id = ${sessionId} and transport = 'git_branch' and deliveries.state = 'succeeded'
            and changesets.id < ${changesetId} order by changesets.id desc limit 1`),
        (row) => row?.created_at ?? null
      ),
    earlier: (delivery) =>
      Effect.map(
        db.all(sql<DeliveryRow & { readonly tree: string }>`select deliveries.*, changesets.tree from deliveries
          join changesets on changesets.id = deliveries.changeset_id
          where deliveries.session_id = ${delivery.session_id} and transport = 'git_branch'
            and target_ref = ${delivery.target_ref} and remote_url = ${delivery.remote_url}
            and deliveries.id <> ${delivery.id} and changesets.tree is not null
          order by deliveries.id desc limit ${maxEarlier}`),
        (rows) => rows.map(({ tree, ...row }) => ({ tree, delivery: toDelivery(row) }))
      ),
    mergeOf: (id) =>
      Effect.map(
        db.first(sql<{ merges: string | null }>`select merges from deliveries where id = ${id}`),
        (row): BranchMerge | undefined =>
          row === undefined || row.merges === null ? undefined : JSON.parse(row.merges)
      ),
    pushedTo: (sessionId, targetRef) =>
      Effect.map(
        db.all(sql<DeliveryRow & { readonly tree: string }>`select deliveries.*, changesets.tree from deliveries
          join changesets on changesets.id = deliveries.changeset_id
          where deliveries.session_id = ${sessionId} and transport = 'git_branch' and target_ref = ${targetRef}
            and deliveries.state = 'succeeded' and deliveries.commit_sha is not null and changesets.tree is not null
          order by deliveries.updated_at desc, deliveries.id desc limit ${maxEarlier}`),
        (rows) => rows.map(({ tree, ...row }) => ({ tree, delivery: toDelivery(row) }))
      ),
    lastObserved: (delivery) =>
      Effect.map(
        db.first(sql<{ observed_head: string }>`select observed_head from deliveries
        where session_id = ${delivery.session_id} and target_ref = ${delivery.target_ref}
          and remote_url = ${delivery.remote_url} and observed_head is not null
        order by updated_at desc, id desc limit 1`),
        (row) => row?.observed_head ?? null
      )
  }
}
