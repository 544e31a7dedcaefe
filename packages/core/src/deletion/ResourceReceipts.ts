import type { Actor } from "@reins/base/domain/Event"
import type { AccountId, WorkspaceId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import type { OperationRef } from "../jobs/Job.js"
import { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { Deletion } from "./DeletionsApi.js"

/** A receipt, and the account that may read it when the workspace is gone. */
export interface StoredDeletion {
  readonly receipt: Deletion
  readonly accountId: AccountId | null
}

type Row = Omit<Deletion, "deleted_by"> & { readonly deleted_by: string; readonly account_id: AccountId | null }

const toDeletion = ({ account_id, deleted_by, ...row }: Row): StoredDeletion => ({
  receipt: { ...row, deleted_by: JSON.parse(deleted_by) },
  accountId: account_id
})

/** The receipts of deleted projects, workspaces and accounts as rows. */
export const resourceReceipts = Effect.map(Database, ({ all, first, run, sql }) => ({
  find: (id: string): Effect.Effect<StoredDeletion | undefined> =>
    Effect.map(first(sql<Row>`select * from deletions where id = ${id}`), (row) => row && toDeletion(row)),

  /** Those of some ids of which nothing is left. */
  deletedOf: (ids: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>> =>
    ids.length === 0
      ? Effect.succeed(new Set())
      : Effect.map(
          all(sql<{ id: string }>`select id from deletions where ${sql.in("id", [...ids])} and state = 'deleted'`),
          (rows) => new Set(rows.map(({ id }) => id))
        ),

  /** Writes the receipt of a deletion that begins, and gives it. */
  begin: Effect.fnUntraced(function* (
    { id, kind, workspaceId }: Pick<Deletion, "id" | "kind"> & { readonly workspaceId: WorkspaceId | null },
    by: { readonly actor: Actor; readonly accountId: AccountId | null },
    operation: OperationRef
  ): Effect.fn.Return<Deletion, never, Commit> {
    const receipt: Deletion = {
      kind,
      id,
      workspace_id: workspaceId,
      deleted_by: by.actor,
      state: "deleting",
      operation_id: operation.id,
      job_id: operation.job_id,
      requested_at: yield* now,
      finished_at: null
    }
    const row = { ...receipt, deleted_by: JSON.stringify(by.actor), account_id: by.accountId }
    yield* run(sql`insert into deletions ${sql.insert(row)}`)
    return receipt
  }),

  /** Notes that nothing is left of a workspace, and of what was being deleted in it. */
  finishIn: Effect.fnUntraced(function* (workspaceId: string): Effect.fn.Return<void, never, Commit> {
    yield* Commit
    yield* run(sql`update deletions set state = 'deleted', finished_at = ${yield* now}
      where workspace_id = ${workspaceId} and state = 'deleting'`)
  }),

  /** Notes that nothing is left. */
  finish: Effect.fnUntraced(function* (id: string): Effect.fn.Return<void, never, Commit> {
    yield* Commit
    yield* run(sql`update deletions set state = 'deleted', finished_at = ${yield* now} where id = ${id}`)
  })
}))
