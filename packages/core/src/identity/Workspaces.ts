import { fn } from "@reins/base/base/Traced"
import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, type Denied, type ScopeMissing, type Unseen } from "../access/Access.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import type { Workspace } from "./Account.js"
import { requireUnlimited } from "./ApiKeys.js"
import * as Throttle from "./Throttle.js"
import { toWorkspace, WorkspaceStore } from "./WorkspaceStore.js"
import type { WorkspaceInput, WorkspacePatch } from "./WorkspacesApi.js"

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
     * Makes a workspace, whose owner is the account. Needs the scope `admin`. Fails with `forbidden` for credentials that are good for one
     * workspace, and with `rate_limited` when the account has made 20 within an hour.
     */
    readonly create: (
      principal: Principal,
      input: WorkspaceInput
    ) => Command<Workspace, ScopeMissing | ReinsError<"forbidden" | "rate_limited">>
    /**
     * Changes the name, the budget and the retention of a workspace, as far as given. Calls that wait for the budget look again. Needs an owner and the scope
     * `admin`. Fails with `forbidden` for others, and when a key calls that has a budget itself.
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
      const throttle = yield* Throttle.make

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
        create: (principal, { name }) =>
          journal.command(
            "Workspaces.create",
            { by: principal, about: { type: "account", id: principal.accountId } },
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              if (principal.workspaceId !== null) return yield* boundToOne
              if (!(yield* throttle.take(creationLimit, principal.accountId))) {
                const wait = yield* throttle.retryAfterSeconds(creationLimit, principal.accountId)
                return yield* tooMany(wait ?? 1)
              }
              const id = yield* store.add(principal.accountId, name)
              return yield* Effect.orDie(get(principal, id))
            })
          ),
        update: (principal, workspaceId, { budget, name, retention }) =>
          journal.command(
            "Workspaces.update",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.manage(principal, workspaceId)
              yield* requireUnlimited(budgets, principal)
              if (name !== undefined) yield* store.rename(workspaceId, name)
              if (retention !== undefined) yield* store.keepSessions(workspaceId, retention.sessions_days)
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

const creationLimit: Throttle.ThrottleLimit = { kind: "workspaces", max: 20, windowMs: 60 * 60 * 1000 }

const tooMany = (seconds: number) =>
  Throttle.rateLimited(
    "workspaces",
    creationLimit,
    seconds,
    `You made ${creationLimit.max} workspaces within an hour. Wait ${seconds} seconds before the next one.`
  )

const boundToOne = new ReinsError({
  code: "forbidden",
  message:
    "These credentials are good for one workspace only, so they make no other one. Log in, or use a key of the whole account."
})
