import { listCostOf } from "../../connections/ListPrices.js"
import { toNanos } from "../rows/Session.js"
import type { UsageCounts, UsageSum } from "../rows/UsageSum.js"

/** The model of kept sums, with its tokens on the days on which no turn of it had a cost. */
export interface UnpricedTokens {
  /** Empty for no model. */
  readonly model: string
  readonly unpriced_turns: number | null
  readonly unpriced_input: number | null
  readonly unpriced_cached: number | null
  readonly unpriced_output: number | null
}

const unpriced = { turns: "reported_turns", input: "input_tokens", cached: "cached_tokens", output: "output_tokens" }

/** The columns of `UnpricedTokens` but the model, in statements over `usage_days`. */
export const unpricedTotals = Object.entries(unpriced)
  .map(
    ([name, column]) =>
      `cast(sum(case when priced_turns = 0 then ${column} end) as double precision) as unpriced_${name}`
  )
  .join(", ")

/** The part of a sum that list prices tell. */
export type ListedPart = Pick<UsageSum, "list_priced_turns" | "list_cost_usd">

/** The cost of the tokens of one model by list prices. Sums by day count writes to a cache as other input. */
export const listedPart = (tokens: UnpricedTokens): ListedPart => {
  const list_cost_usd = listCostOf(tokens.model, {
    input: tokens.unpriced_input,
    cached: tokens.unpriced_cached,
    cacheWritten: null,
    output: tokens.unpriced_output
  })
  return { list_priced_turns: list_cost_usd === null ? 0 : (tokens.unpriced_turns ?? 0), list_cost_usd }
}

/** A row of sums as they are answered. */
export const answeredSum = (counts: UsageCounts, listed: ListedPart): UsageSum => ({
  turns: counts.turns,
  reported_turns: counts.reported_turns,
  priced_turns: counts.priced_turns,
  input_tokens: counts.input_tokens,
  output_tokens: counts.output_tokens,
  cached_tokens: counts.cached_tokens,
  reasoning_tokens: counts.reasoning_tokens,
  cost_usd: counts.cost_usd === null ? null : toNanos(counts.cost_usd),
  ...listed
})
