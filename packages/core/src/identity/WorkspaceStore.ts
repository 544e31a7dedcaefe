import { type AccountId, newId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Role } from "@reins/base/domain/Role"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import * as Memberships from "../access/Memberships.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { Workspace } from "./Account.js"

/** A workspace as it is stored. */
export interface WorkspaceRow {
  readonly id: WorkspaceId
  readonly name: string
  /** The account whose personal workspace it is. */
  readonly personal_account_id: AccountId | null
  readonly retention_session_days: number | null
  readonly created_at: Timestamp
}

/** The rows of workspaces. */
export class WorkspaceStore extends Context.Tag("@reins/core/identity/WorkspaceStore")<
  WorkspaceStore,
  {
    /** Makes the personal workspace of an account, which becomes its owner. */
    readonly addPersonal: (accountId: AccountId) => Effect.Effect<void, never, Commit>
    /** Makes a workspace with a first owner, and gives back its id. */
    readonly add: (accountId: AccountId, name: string) => Effect.Effect<WorkspaceId, never, Commit>
    /** Gives a workspace another name. */
    readonly rename: (workspaceId: string, name: string) => Effect.Effect<void, never, Commit>
    /** Sets the days for which archived and closed sessions are kept; null for ever. */
    readonly keepSessions: (workspaceId: string, days: number | null) => Effect.Effect<void, never, Commit>
    /** Undefined when there is no workspace of that id. */
    readonly find: (workspaceId: string) => Effect.Effect<WorkspaceRow | undefined>
    /** `find`. Other commits that lock the workspace wait until this one ends. */
    readonly lock: (workspaceId: string) => Effect.Effect<WorkspaceRow | undefined, never, Commit>
    /** The id of the personal workspace of an account. */
    readonly findPersonal: (accountId: AccountId) => Effect.Effect<WorkspaceId | undefined>
    /** The workspaces of an account with an id below `before`, newest first. `only` leaves out every other workspace. */
    readonly listOf: (
      accountId: AccountId,
      page: { readonly before: string; readonly limit: number; readonly only: WorkspaceId | null }
    ) => Effect.Effect<ReadonlyArray<Omit<Workspace, "budget">>>
    /** All workspaces of an account, oldest first. */
    readonly allOf: (
      accountId: AccountId
    ) => Effect.Effect<ReadonlyArray<{ readonly id: WorkspaceId; readonly name: string; readonly role: Role }>>
  }
>() {
  static readonly layer = Layer.effect(
    WorkspaceStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const insert = Effect.fnUntraced(function* (
        owner: AccountId,
        values: Pick<WorkspaceRow, "name" | "personal_account_id">
      ) {
        const id = yield* newId(WorkspaceId)
        const created_at = yield* now
        yield* db.run(sql`insert into workspaces ${sql.insert({ id, ...values, created_at })}`)
        yield* Memberships.add(db, { workspace_id: id, account_id: owner, role: "owner", created_at })
        return id
      })
      return WorkspaceStore.of({
        addPersonal: (accountId) =>
          Effect.asVoid(insert(accountId, { name: "Personal", personal_account_id: accountId })),
        add: (accountId, name) => insert(accountId, { name, personal_account_id: null }),
        rename: (workspaceId, name) => db.run(sql`update workspaces set name = ${name} where id = ${workspaceId}`),
        keepSessions: (workspaceId, days) =>
          db.run(sql`update workspaces set retention_session_days = ${days} where id = ${workspaceId}`),
        find: (workspaceId) => db.first(sql<WorkspaceRow>`select * from workspaces where id = ${workspaceId}`),
        lock: (workspaceId) =>
          db.first(sql<WorkspaceRow>`select * from workspaces where id = ${workspaceId}${db.forUpdate}`),
        findPersonal: (accountId) =>
          Effect.map(
            db.first(sql<{ id: WorkspaceId }>`select id from workspaces where personal_account_id = ${accountId}`),
            (row) => row?.id
          ),
        listOf: Effect.fnUntraced(function* (accountId, { before, limit, only }) {
          const chosen = only === null ? sql.literal("") : sql`and workspaces.id = ${only}`
          const rows = yield* db.all(sql<WorkspaceRow & { readonly role: Role }>`select workspaces.*, memberships.role
            from workspaces join ${Memberships.workspacesOf(sql, accountId)} as memberships
              on memberships.workspace_id = workspaces.id
            where workspaces.id < ${before} ${chosen} order by workspaces.id desc limit ${limit}`)
          return rows.map((row) => toWorkspace(row, row.role))
        }),
        allOf: (accountId) =>
          db.all(sql<{
            id: WorkspaceId
            name: string
            role: Role
          }>`select workspaces.id, workspaces.name, memberships.role
            from workspaces join ${Memberships.workspacesOf(sql, accountId)} as memberships
              on memberships.workspace_id = workspaces.id
            order by workspaces.id`)
      })
    })
  )
}

/** The workspace as the API shows it to a member of that role, without its budget. */
export const toWorkspace = (row: WorkspaceRow, role: Role): Omit<Workspace, "budget"> => ({
  id: row.id,
  name: row.name,
  personal: row.personal_account_id !== null,
  role,
  retention: { sessions_days: row.retention_session_days },
  created_at: row.created_at
})
