import type { Budget, BudgetInput, Reins } from "@reins/client"
import { argument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { tell } from "../terminal/Output.js"
import { remoteCommand } from "./Remote.js"
import { sessionNamed } from "./Resolve.js"

/** The forms of a budget, for the help of commands. */
export const budgetForms = "tokens as in 200000, 200k or 1.5m, US dollars as in $2.50"

const factors: Readonly<Record<string, number>> = { "": 1, k: 1000, m: 1_000_000 }

/** The limits that a text stands for. */
export const budgetOf = (text: string): BudgetInput => {
  const [, dollars] = /^\$(\d+(?:\.\d+)?)$/.exec(text) ?? []
  if (dollars !== undefined) return { max_cost_usd: Number(dollars) }
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?)([km]?)$/i.exec(text) ?? []
  const tokens = Math.round(Number(digits) * (factors[unit.toLowerCase()] ?? 1))
  if (digits === undefined || tokens < 1)
    throw new CommandFailed({ message: `${text} is no budget. Give ${budgetForms} (in quotes, because of the shell).` })
  return { max_tokens: tokens }
}

const count = (tokens: number): string => tokens.toLocaleString("en-US")

/** The spent part of a budget, for a column of a table. */
export const spentOf = (budget: Budget | null): string => {
  if (budget === null) return "-"
  const tokens = budget.max_tokens === null ? [] : [`${count(budget.spent_tokens)}/${count(budget.max_tokens)} tokens`]
  const cost = budget.max_cost_usd === null ? [] : [`$${budget.spent_cost_usd ?? 0}/$${budget.max_cost_usd}`]
  return [...tokens, ...cost].join(" ")
}

/** Columns of a table, with that of budgets where something in it has one. */
export const withBudgets = (
  rows: ReadonlyArray<{ readonly cells: ReadonlyArray<string>; readonly budget: Budget | null }>,
  head: ReadonlyArray<string>
): ReadonlyArray<ReadonlyArray<string>> => {
  const hasBudgets = rows.some(({ budget }) => budget !== null)
  const beside = (cells: ReadonlyArray<string>, cell: string) =>
    hasBudgets ? [...cells.slice(0, -1), cell, ...cells.slice(-1)] : cells
  return [beside(head, "BUDGET"), ...rows.map(({ budget, cells }) => beside(cells, spentOf(budget)))]
}

/** The change of the budget of a resource other than a session, by the beginning of its id. */
const others: Readonly<
  Record<string, (reins: Reins, id: string, budget: BudgetInput | null) => Promise<{ readonly budget: Budget | null }>>
> = {
  turn: (reins, turn_id, budget) => reins.turns.update({ turn_id, budget }),
  key: (reins, key_id, budget) => reins.apiKeys.update({ key_id, budget }),
  wsp: (reins, workspace_id, budget) => reins.workspaces.update({ workspace_id, budget })
}

/** `reins budget` */
export const budget = remoteCommand({
  takes: {
    of: argument("id", "A session by its id, its end, its title or `last`; a turn, a key or a workspace by its id"),
    amount: argument("amount", `The limit: ${budgetForms}; or none`)
  },
  details: "Turns that wait for a budget go on once it is raised.",
  examples: [
    ["reins budget sess_01h… 2m", "Allow a session two million tokens"],
    ["reins budget wsp_01h… '$20'", "Allow a workspace twenty US dollars"]
  ],
  run: async ({ amount, of }, connect) => {
    const other = others[of.split("_")[0] ?? ""]
    if (other === undefined && /^(?!sess_)[a-z]{2,5}_\w+$/.test(of))
      throw new CommandFailed({
        message: `${of} is not the id of a session, a turn, an API key or a workspace. reins sessions list shows sessions.`
      })
    const limits = amount === "none" ? null : budgetOf(amount)
    const remote = await connect()
    const { budget } =
      other === undefined
        ? await remote.reins.sessions.update({ session_id: await sessionNamed(remote, of), budget: limits })
        : await other(remote.reins, of, limits)
    tell(budget === null ? "It has no budget any more." : `Spent so far: ${spentOf(budget)}.`)
  }
})
