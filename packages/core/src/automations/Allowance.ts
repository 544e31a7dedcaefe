import type { BudgetInput } from "../budgets/Budget.js"
import { nano } from "../budgets/BudgetRow.js"
import type { AutomationOptions } from "./Automation.js"
import { type AutomationRow, optionsOf, timedTriggerOf } from "./AutomationStore.js"
import { budgetOf, type LiveRun } from "./RunStore.js"

/** The reasons for which a run that is due while others have not ended does not begin. */
export type Dropped = "overlap" | "coalesced" | "queue_full"

/** The answer to a run that is due while others may not have ended. */
export type OverlapVerdict = "begin" | "wait" | Dropped

/** The most runs of an automation that wait, each with what its call brought. */
export const mostWaiting = 100

/** The runs that may begin beside each other. */
export const widthOf = (row: Pick<AutomationRow, "due" | "options">): number => {
  const { max_parallel, overlap } = optionsOf(row)
  return overlap === "parallel" ? max_parallel : 1
}

/** Decides whether a run begins beside the live ones. A call or an event brings its own work, so it waits where a time of the clock is left out. */
export const judgeOverlap = (
  row: Pick<AutomationRow, "due" | "options">,
  live: ReadonlyArray<LiveRun>
): OverlapVerdict => {
  const { overlap } = optionsOf(row)
  const isTimed = timedTriggerOf(row) !== undefined
  if (live.length === 0 || (overlap === "parallel" && live.length < widthOf(row))) return "begin"
  if (overlap === "skip" || (overlap === "parallel" && isTimed)) return "overlap"
  const waiting = live.filter(isUnbegun).length
  if (overlap === "queue") return waiting < (isTimed ? 1 : 5) ? "wait" : "coalesced"
  return waiting < mostWaiting ? "wait" : "queue_full"
}

/** True for a run that waits for the end of the one before. */
export const isUnbegun = ({ started_at, state }: LiveRun): boolean => state === "waiting" && started_at === null

/** The limits of a run; null for none. `spent` when the total is used up, `reserved` when live runs may use up the rest of it. */
export type Allowance = { readonly limits: BudgetInput | null } | "spent" | "reserved"

/** The limits of a run: its own, and at most the rest of the total. The limits of live runs are taken from that rest. */
export const allowanceOf = (
  { budget }: Pick<AutomationOptions, "budget">,
  spent: Pick<AutomationRow, "spent_nano_usd" | "spent_tokens">,
  live: ReadonlyArray<LiveRun>
): Allowance => {
  const reserved = live.map(budgetOf)
  const tokens = leftOf(
    budget?.total?.max_tokens,
    spent.spent_tokens,
    reserved.map((limits) => limits?.max_tokens ?? 0)
  )
  const nanos = leftOf(
    budget?.total?.max_cost_usd === undefined ? undefined : Math.round(budget.total.max_cost_usd * nano),
    spent.spent_nano_usd ?? 0,
    reserved.map((limits) => Math.round((limits?.max_cost_usd ?? 0) * nano))
  )
  if (tokens === "spent" || nanos === "spent") return "spent"
  if (tokens === "reserved" || nanos === "reserved") return "reserved"
  const max_tokens = least(budget?.run?.max_tokens, tokens)
  const max_cost_usd = least(budget?.run?.max_cost_usd, nanos === undefined ? undefined : nanos / nano)
  if (max_tokens === undefined && max_cost_usd === undefined) return { limits: null }
  return {
    limits: { ...(max_tokens !== undefined && { max_tokens }), ...(max_cost_usd !== undefined && { max_cost_usd }) }
  }
}

const leftOf = (
  total: number | undefined,
  spent: number,
  reserved: ReadonlyArray<number>
): number | undefined | "spent" | "reserved" => {
  if (total === undefined) return undefined
  if (spent >= total) return "spent"
  const left = total - spent - reserved.reduce((sum, one) => sum + one, 0)
  return left <= 0 ? "reserved" : left
}

const least = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b)
