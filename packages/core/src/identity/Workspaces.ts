import { Context, Effect, Layer } from "effect"
import { Access } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import type { Role, Workspace } from "../domain/Account.js"
import type { WorkspaceId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, type ReinsError } from "../domain/ReinsError.js"
import type { Timestamp } from "../domain/Timestamp.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"

/** The workspaces that an account belongs to. Owns who is a member; does not own what is on disk for a session. */
export class Workspaces extends Context.Tag("@reins/core/identity/Workspaces")<
  Workspaces,
  {
    /** Newest first. */
    readonly list: (principal: Principal, page: PageRequest) => Effect.Effect<Page<Workspace>, ReinsError>
    readonly get: (principal: Principal, workspaceId: string) => Effect.Effect<Workspace, ReinsError>
    /** Where a request that names no workspace belongs: the one that the key is for, else the personal one. */
    readonly defaultFor: (principal: Principal) => Effect.Effect<WorkspaceId, ReinsError>
  }
>() {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.gen(function* () {
      const db = yield* Database
      const access = yield* Access
      const sql = db.sql
      return Workspaces.of({
        list: fn("Workspaces.list")(function* (principal, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const only = principal.workspaceId === null ? sql`1 = 1` : sql`workspaces.id = ${principal.workspaceId}`
          const rows = yield* db.all(sql<WorkspaceRow>`select workspaces.*, workspace_members.role from workspaces
          join workspace_members on workspace_members.workspace_id = workspaces.id
          where workspace_members.account_id = ${principal.accountId} and workspaces.id < ${before} and ${only}
          order by workspaces.id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toWorkspace), limit, (workspace) => workspace.id)
        }),
        get: fn("Workspaces.get")(function* (principal, workspaceId) {
          const role = yield* access.read(principal, workspaceId)
          const row = yield* db.first(
            sql<WorkspaceRow>`select workspaces.*, ${role} as role from workspaces where id = ${workspaceId}`
          )
          return row === undefined ? yield* notFound() : toWorkspace(row)
        }),
        defaultFor: fn("Workspaces.defaultFor")(function* (principal) {
          if (principal.workspaceId !== null) return principal.workspaceId
          const row = yield* db.first(
            sql<{ id: WorkspaceId }>`select id from workspaces where personal_account_id = ${principal.accountId}`
          )
          return row === undefined ? yield* notFound() : row.id
        })
      })
    })
  )
}

interface WorkspaceRow {
  readonly id: Workspace["id"]
  readonly name: string
  readonly personal_account_id: string | null
  readonly role: Role
  readonly created_at: Timestamp
}

const toWorkspace = (row: WorkspaceRow): Workspace => ({
  id: row.id,
  name: row.name,
  personal: row.personal_account_id !== null,
  role: row.role,
  created_at: row.created_at
})
