import type { SqlClient, Statement } from "@effect/sql"
import type { AccountId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Role } from "@reins/base/domain/Role"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { type Commit, ringAccess } from "../store/Commit.js"
import type { Database } from "../store/Database.js"

// Owns the table of memberships, because every decision of `Access` rests on it. Other rooms read it through the fragments below.

type Db = Database["Type"]
type Sql = SqlClient.SqlClient
type Fragment = Statement.Statement<object>

/** An account that belongs to a workspace. */
export interface Membership {
  readonly workspace_id: WorkspaceId
  readonly account_id: AccountId
  readonly role: Role
  readonly created_at: Timestamp
}

/**
 * The role of an account in a workspace: one row, or none when the account does not belong to it. The query can also stand as a column in
 * a statement of another room, where `workspaceId` is a column of that statement.
 */
export const roleQuery = (sql: Sql, workspaceId: string | Statement.Fragment, accountId: string) =>
  sql<{ readonly role: Role }>`select role from workspace_members
    where workspace_id = ${workspaceId} and account_id = ${accountId}`

/** Makes an account a member. An account that is one already keeps its role. */
export const add = (db: Db, membership: Membership): Effect.Effect<void, never, Commit> =>
  db.run(db.sql`insert into workspace_members ${db.sql.insert({ ...membership })} on conflict do nothing`)

/** Gives a member another role. */
export const setRole = (
  db: Db,
  { account_id, role, workspace_id }: Omit<Membership, "created_at">
): Effect.Effect<void, never, Commit> =>
  Effect.zipRight(
    ringAccess(account_id),
    db.run(db.sql`update workspace_members set role = ${role}
      where workspace_id = ${workspace_id} and account_id = ${account_id}`)
  )

/** Removes an account from a workspace. */
export const removeMembership = (db: Db, workspaceId: string, accountId: string): Effect.Effect<void, never, Commit> =>
  Effect.zipRight(
    ringAccess(accountId),
    db.run(db.sql`delete from workspace_members where workspace_id = ${workspaceId} and account_id = ${accountId}`)
  )

/** The accounts that own a workspace. */
export const ownersOf = (db: Db, workspaceId: string): Effect.Effect<ReadonlyArray<AccountId>> =>
  Effect.map(
    db.all(db.sql<{ account_id: AccountId }>`select account_id from workspace_members
      where workspace_id = ${workspaceId} and role = 'owner'`),
    (rows) => rows.map(({ account_id }) => account_id)
  )

/** A table to join: the `account_id`, `role` and `created_at` of each member of a workspace. */
export const membersOf = (sql: Sql, workspaceId: string): Fragment =>
  sql`(select account_id, role, created_at from workspace_members where workspace_id = ${workspaceId})`

/** A table to join: the `workspace_id` of each workspace that an account belongs to, and its `role` there. */
export const workspacesOf = (sql: Sql, accountId: string): Fragment =>
  sql`(select workspace_id, role from workspace_members where account_id = ${accountId})`

/** A condition: the account that one column names belongs to the workspace that another names, with that role if one is given. */
export const isMember = (sql: Sql, workspaceColumn: string, accountColumn: string, role?: Role): Fragment =>
  sql`exists (select 1 from workspace_members where workspace_members.workspace_id = ${sql.literal(workspaceColumn)}
    and workspace_members.account_id = ${sql.literal(accountColumn)}
    ${role === undefined ? sql.literal("") : sql`and workspace_members.role = ${role}`})`

/** A condition: the account has belonged to the workspace without a break since a time, and may change what is in it now. */
export const mayChangeSince = (
  sql: Sql,
  columns: { readonly workspace: string; readonly account: string; readonly since: string }
): Statement.Fragment =>
  sql`exists (select 1 from workspace_members where workspace_members.workspace_id = ${sql.literal(columns.workspace)}
    and workspace_members.account_id = ${sql.literal(columns.account)} and workspace_members.role <> 'viewer'
    and workspace_members.created_at <= ${sql.literal(columns.since)})`
