import { actionsOf, type Condition } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import type { Role } from "@reins/base/domain/Role"
import { Effect } from "effect"
import { Access, canChange, type Denied, type Unseen } from "../access/Access.js"
import { nano } from "../budgets/BudgetRow.js"
import type { Commit } from "../store/Commit.js"
import { type Automation, type AutomationAction, automationStates } from "./Automation.js"
import { type AutomationRow, AutomationStore, automationTarget, optionsOf, triggerOf } from "./AutomationStore.js"
import { type Held, makeHold } from "./RunStart.js"
import { RunStore, toRun } from "./RunStore.js"

const isActive: Condition<AutomationRow, "invalid_transition"> = {
  holds: ({ state }) => state === "active",
  refusal: ({ state }) => automationStates.refusal(state, "paused")
}
const isPaused: Condition<AutomationRow, "invalid_transition"> = {
  holds: ({ state }) => state === "paused",
  refusal: ({ state }) => automationStates.refusal(state, "active")
}

/** The conditions of the commands on an automation. */
export const automationRules = { update: [], delete: [], pause: [isActive], resume: [isPaused], start_run: [] } as const

const possible = actionsOf<AutomationRow, AutomationAction>(automationRules)

/** Gives the function that shows an automation as a caller with that role sees it. */
export const makeShow = Effect.gen(function* () {
  const runs = yield* RunStore
  return Effect.fnUntraced(function* (
    principal: Principal,
    role: Role,
    row: AutomationRow
  ): Effect.fn.Return<Automation> {
    const newest = yield* runs.newest(row.id)
    const { acts_for, created_at, failures, id, name, next_due_at, next_run_at, pause_message, pause_reason } = row
    return {
      id,
      workspace_id: row.workspace_id,
      name,
      trigger: triggerOf(row),
      target: automationTarget(row),
      ...optionsOf(row),
      state: row.state,
      pause_reason,
      pause_message,
      acts_for,
      next_due_at,
      next_run_at,
      failures,
      spent_tokens: row.spent_tokens,
      spent_cost_usd: row.spent_nano_usd === null ? null : row.spent_nano_usd / nano,
      last_run: newest === undefined ? null : toRun(newest),
      version: row.version,
      actions: canChange(principal, role) && owns(principal, role, row) ? possible(row) : [],
      created_at,
      updated_at: row.updated_at
    }
  })
})

/** True for an owner of the workspace, and for a member whom the automation acts for. */
const owns = ({ accountId }: Principal, role: Role, { acts_for }: AutomationRow): boolean =>
  role === "owner" || acts_for === accountId

/** The automations that a principal may see and change. */
export const automationAccess = Effect.gen(function* () {
  const access = yield* Access
  const store = yield* AutomationStore
  const hold = yield* makeHold

  return {
    /** Fails with `not_found` for one that the principal may not see. */
    readable: Effect.fnUntraced(function* (
      principal: Principal,
      id: string
    ): Effect.fn.Return<{ readonly row: AutomationRow; readonly role: Role }, Unseen> {
      const row = yield* store.find(id)
      if (row === undefined) return yield* notFound()
      return { row, role: yield* access.read(principal, row.workspace_id) }
    }),
    /** The automation, held by the commit, for a principal that may change it. */
    writable: Effect.fnUntraced(function* (
      principal: Principal,
      id: string
    ): Effect.fn.Return<Held & { readonly role: Role }, Denied, Commit> {
      const held = yield* hold(id)
      if (held === undefined) return yield* notFound()
      const role = yield* access.write(principal, held.row.workspace_id)
      if (!owns(principal, role, held.row)) return yield* ofAnother(role, held.row)
      return { ...held, role }
    })
  }
})

const ofAnother = (role: Role, { workspace_id }: AutomationRow): ReinsError<"forbidden"> =>
  new ReinsError({
    code: "forbidden",
    message: "The automation acts for another account. Only that account and the owners of the workspace change it.",
    details: { role, workspace_id }
  })
