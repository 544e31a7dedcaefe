import type { Timestamp } from "@reins/base/domain/Timestamp"
import type { Database } from "../store/Database.js"
import type { Budget } from "./Budget.js"

/** A budget as it is stored. Costs are billionths of a US dollar. */
export interface BudgetRow {
  readonly max_tokens: number | null
  readonly max_nano_usd: number | null
  readonly spent_tokens: number
  readonly spent_nano_usd: number | null
  readonly estimated_calls: number
  readonly created_at: Timestamp
}

const names = [
  "max_tokens",
  "max_nano_usd",
  "spent_tokens",
  "spent_nano_usd",
  "estimated_calls",
  "created_at"
] as const satisfies ReadonlyArray<keyof BudgetRow>

/** The columns for other rooms that read a row together with its budget, in one statement. */
export const budgetColumns = ({ dialect, sql }: Database["Type"]) => {
  const object = dialect === "pg" ? "json_build_object" : "json_object"
  const json = `${object}(${names.map((name) => `'${name}', ${name}`).join(", ")})`
  return {
    /** The budget of a subject as the text that `budgetIn` reads; null for none. `subject` is SQL. */
    of: (subject: string) =>
      sql`(select cast(${sql.literal(json)} as text) from budgets where subject_id = ${sql.literal(subject)})`,
    /** 1 while anything in the installation has a budget, else 0. */
    any: sql`(select cast(count(*) as integer) from (select 1 from budgets limit 1) as one)`
  }
}

/** The budget in a column of `budgetColumns`. */
export const budgetIn = (column: string | null): Budget | null =>
  column === null ? null : toBudget(JSON.parse(column))

/** A US dollar in the unit of the rows. */
export const nano = 1e9

const left = (most: number | null, spent: number): number | null => (most === null ? null : Math.max(0, most - spent))

const dollars = (nanoUsd: number | null): number | null => (nanoUsd === null ? null : nanoUsd / nano)

/** The budget of a row as clients see it. */
export const toBudget = (row: BudgetRow): Budget => {
  const remainingTokens = left(row.max_tokens, row.spent_tokens)
  const remainingNanos = left(row.max_nano_usd, row.spent_nano_usd ?? 0)
  return {
    max_tokens: row.max_tokens,
    max_cost_usd: dollars(row.max_nano_usd),
    spent_tokens: row.spent_tokens,
    spent_cost_usd: dollars(row.spent_nano_usd),
    remaining_tokens: remainingTokens,
    remaining_cost_usd: dollars(remainingNanos),
    estimated_calls: row.estimated_calls,
    exhausted: remainingTokens === 0 || remainingNanos === 0,
    since: row.created_at
  }
}
