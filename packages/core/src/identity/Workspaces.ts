import { Context, Effect, Layer } from "effect"
import { Access, type Denied, type ScopeMissing, type Unseen } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import type { WorkspaceId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, type ReinsError } from "../domain/ReinsError.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import type { Workspace } from "./Account.js"
import { requireUnlimited } from "./ApiKeys.js"
import { toWorkspace, WorkspaceStore } from "./WorkspaceStore.js"
import type { WorkspacePatch } from "./WorkspacesApi.js"

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
    /**
     * Changes the budget of a workspace. Calls that wait for it look again. Needs an owner and the scope `admin`. Fails with `forbidden` for
     * others, and when a key calls that has a budget itself.
     */
    readonly update: (
      principal: Principal,
      workspaceId: string,
      patch: WorkspacePatch
    ) => Command<Workspace, Denied | ScopeMissing>
    /** The workspace of a request that names none: the only one that the credentials are good for, or else the personal one. */
    readonly defaultFor: (principal: Principal) => Effect.Effect<WorkspaceId, Unseen>
  }
>() {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.gen(function* () {
      const access = yield* Access
      const store = yield* WorkspaceStore
      const budgets = yield* BudgetStore
      const journal = yield* Journal

      const get = fn("Workspaces.get")(function* (principal: Principal, workspaceId: string) {
        const role = yield* access.read(principal, workspaceId)
        const row = yield* store.find(workspaceId)
        if (row === undefined) return yield* notFound()
        return { ...toWorkspace(row, role), budget: yield* budgets.find(workspaceId) }
      })

      return Workspaces.of({
        list: fn("Workspaces.list")(function* ({ accountId, workspaceId }, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const items = yield* store.listOf(accountId, { before, limit: limit + 1, only: workspaceId })
          const found = yield* budgets.findAll(items.map(({ id }) => id))
          const shown = items.map((workspace) => ({ ...workspace, budget: found.get(workspace.id) ?? null }))
          return Keyset.page(shown, limit, (workspace) => workspace.id)
        }),
        get,
        update: (principal, workspaceId, { budget }) =>
          journal.command(
            "Workspaces.update",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.own(principal, workspaceId)
              yield* access.requireScope(principal, "admin")
              yield* requireUnlimited(budgets, principal)
              if (budget !== undefined) yield* budgets.set(workspaceId, budget)
              return yield* get(principal, workspaceId)
            })
          ),
        defaultFor: fn("Workspaces.defaultFor")(function* ({ accountId, workspaceId }) {
          if (workspaceId !== null) return workspaceId
          return (yield* store.findPersonal(accountId)) ?? (yield* notFound())
        })
      })
    })
  )
}
