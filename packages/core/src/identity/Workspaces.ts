import { Context, Effect, Layer } from "effect"
import { Access, type Unseen } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import type { Workspace } from "../domain/Account.js"
import type { WorkspaceId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, type ReinsError } from "../domain/ReinsError.js"
import * as Keyset from "../store/Keyset.js"
import { toWorkspace, WorkspaceStore } from "./WorkspaceStore.js"

/** The workspaces that an account belongs to. */
export class Workspaces extends Context.Tag("@reins/core/identity/Workspaces")<
  Workspaces,
  {
    /** Newest first. */
    readonly list: (
      principal: Principal,
      page: PageRequest
    ) => Effect.Effect<Page<Workspace>, ReinsError<"invalid_cursor">>
    /** Fails with `not_found` for a workspace that the principal does not belong to. */
    readonly get: (principal: Principal, workspaceId: string) => Effect.Effect<Workspace, Unseen>
    /** The workspace of a request that names none: the only one that the credentials are good for, or else the personal one. */
    readonly defaultFor: (principal: Principal) => Effect.Effect<WorkspaceId, Unseen>
  }
>() {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.gen(function* () {
      const access = yield* Access
      const store = yield* WorkspaceStore
      return Workspaces.of({
        list: fn("Workspaces.list")(function* ({ accountId, workspaceId }, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const items = yield* store.listOf(accountId, { before, limit: limit + 1, only: workspaceId })
          return Keyset.page(items, limit, (workspace) => workspace.id)
        }),
        get: fn("Workspaces.get")(function* (principal, workspaceId) {
          const role = yield* access.read(principal, workspaceId)
          const row = yield* store.find(workspaceId)
          return row === undefined ? yield* notFound() : toWorkspace(row, role)
        }),
        defaultFor: fn("Workspaces.defaultFor")(function* ({ accountId, workspaceId }) {
          if (workspaceId !== null) return workspaceId
          return (yield* store.findPersonal(accountId)) ?? (yield* notFound())
        })
      })
    })
  )
}
