import { field } from "@reins/base/domain/Field"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

export const BudgetInput = Schema.Struct({
  max_tokens: field(
    optional(Schema.Int.pipe(Schema.between(1, 1_000_000_000_000))),
    "The tokens that may be spent, input and output together; no limit when absent."
  ),
  max_cost_usd: field(
    optional(Schema.Number.pipe(Schema.finite(), Schema.between(0.000_001, 1_000_000))),
    "The US dollars that may be spent, by the prices of the connection; no limit when absent."
  )
})
  .pipe(
    Schema.filter(({ max_cost_usd, max_tokens }) => max_tokens !== undefined || max_cost_usd !== undefined, {
      message: () => "A budget has max_tokens, max_cost_usd or both"
    })
  )
  .annotations({
    identifier: "BudgetInput",
    description:
      "What model calls may spend, in tokens, in US dollars or both. It takes the place of the limits that there are, and what was spent stays spent."
  })
export type BudgetInput = typeof BudgetInput.Type

export const Budget = Schema.Struct({
  max_tokens: field(
    Schema.NullOr(Schema.Int),
    "The tokens that may be spent, input and output together; null for no limit."
  ),
  max_cost_usd: field(Schema.NullOr(Schema.Number), "The US dollars that may be spent; null for no limit."),
  spent_tokens: field(
    Schema.Int,
    "The tokens of the model calls that were let out since the budget was set, and have ended."
  ),
  spent_cost_usd: field(
    Schema.NullOr(Schema.Number),
    "The US dollars of these calls, by the prices of the connection. Null while no call had a price: unknown is not nothing."
  ),
  remaining_tokens: field(Schema.NullOr(Schema.Int), "The tokens that are left, never less than 0; null for no limit."),
  remaining_cost_usd: field(
    Schema.NullOr(Schema.Number),
    "The US dollars that are left, never less than 0; null for no limit."
  ),
  estimated_calls: field(
    Schema.Int,
    "The calls among them whose usage the gateway did not say, such as those of a server that was killed. They count by the length of their requests."
  ),
  exhausted: field(
    Schema.Boolean,
    "True when a limit is reached: no further model call goes out until the budget is raised."
  ),
  since: field(Timestamp, "The time at which the budget was set. Raising it keeps what was spent.")
}).annotations({ identifier: "Budget", description: "What model calls may spend, and what they have spent." })
export type Budget = typeof Budget.Type

/** The limits of a budget, as they are set. */
export const budgetLimits = ({ max_cost_usd, max_tokens }: Budget): BudgetInput => ({
  ...(max_tokens !== null && { max_tokens }),
  ...(max_cost_usd !== null && { max_cost_usd })
})

/** The budget in words, as in `1,200 of 1,000 tokens`. Only limits that are reached are named, or all when none is. */
export const budgetWords = (budget: Budget): string => {
  const spentCost = budget.spent_cost_usd ?? 0
  const parts = [
    ...(budget.max_tokens === null
      ? []
      : [
          {
            isReached: budget.spent_tokens >= budget.max_tokens,
            words: `${count(budget.spent_tokens)} of ${count(budget.max_tokens)} tokens`
          }
        ]),
    ...(budget.max_cost_usd === null
      ? []
      : [{ isReached: spentCost >= budget.max_cost_usd, words: `$${spentCost} of $${budget.max_cost_usd}` }])
  ]
  const reached = parts.filter(({ isReached }) => isReached)
  return (reached.length > 0 ? reached : parts).map(({ words }) => words).join(" and ")
}

const count = (tokens: number): string => tokens.toLocaleString("en-US")
