import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"
import { listCostOf } from "../../connections/ListPrices.js"
import { addCosts, addFigures, type Usage } from "./Session.js"

const tokens = (what: string) =>
  field(
    Schema.NullOr(Schema.Int),
    `${what}, over the reported turns. Null when none of them said it: unknown is not nothing.`
  )

export const UsageSum = Schema.Struct({
  turns: field(
    Schema.Int,
    "The turns that were started and have ended, however they ended. Those that still run are not in any figure."
  ),
  reported_turns: field(
    Schema.Int,
    "Those of them whose tokens are known, at least in part: the tokens are summed over these."
  ),
  priced_turns: field(Schema.Int, "Those of them with a cost: `cost_usd` is summed over these."),
  input_tokens: tokens("Tokens that the models read, those from caches among them"),
  output_tokens: tokens("Tokens that the models wrote, those of reasoning among them"),
  cached_tokens: tokens("The part of the input that came from caches"),
  reasoning_tokens: tokens("The part of the output that was reasoning"),
  cost_usd: field(Schema.NullOr(Schema.Number), "US dollars over the priced turns. Null when no turn has a cost."),
  list_priced_turns: field(
    Schema.Int,
    "The turns without a cost whose model has a list price: `list_cost_usd` is summed over these."
  ),
  list_cost_usd: field(
    Schema.NullOr(Schema.Number),
    "US dollars over those turns, by the list prices of vendors. It is an estimate, and no part of `cost_usd`. Null when no such turn has one."
  )
}).annotations({
  identifier: "UsageSum",
  description: "Usage summed up, with the number of turns that each figure was taken over."
})
export type UsageSum = typeof UsageSum.Type

/** A sum without what list prices tell, as it is kept. */
export type UsageCounts = Omit<UsageSum, "list_priced_turns" | "list_cost_usd">

const nothing: UsageSum = {
  turns: 0,
  reported_turns: 0,
  priced_turns: 0,
  input_tokens: null,
  output_tokens: null,
  cached_tokens: null,
  reasoning_tokens: null,
  cost_usd: null,
  list_priced_turns: 0,
  list_cost_usd: null
}

/** The part that one turn has in a sum. */
export const countsOf = ({
  cached_tokens,
  cost_usd,
  input_tokens,
  output_tokens,
  reasoning_tokens
}: Usage): UsageCounts => {
  const tokens = { input_tokens, output_tokens, cached_tokens, reasoning_tokens }
  return {
    ...tokens,
    turns: 1,
    reported_turns: Object.values(tokens).some((count) => count !== null) ? 1 : 0,
    priced_turns: cost_usd === null ? 0 : 1,
    cost_usd
  }
}

/** The sum of one turn of a model. Where nothing says its cost, the list price does. */
export const sumOfTurn = (model: string | null, usage: Usage): UsageSum => {
  const { cached_tokens: cached, cost_usd, input_tokens: input, output_tokens: output } = usage
  const list_cost_usd = cost_usd === null ? listCostOf(model, { input, cached, cacheWritten: null, output }) : null
  return { ...countsOf(usage), list_priced_turns: list_cost_usd === null ? 0 : 1, list_cost_usd }
}

/** The sum of sums. */
export const addCounts = (all: ReadonlyArray<UsageSum>): UsageSum =>
  all.reduce(
    (sum, each) => ({
      turns: sum.turns + each.turns,
      reported_turns: sum.reported_turns + each.reported_turns,
      priced_turns: sum.priced_turns + each.priced_turns,
      input_tokens: addFigures(sum.input_tokens, each.input_tokens),
      output_tokens: addFigures(sum.output_tokens, each.output_tokens),
      cached_tokens: addFigures(sum.cached_tokens, each.cached_tokens),
      reasoning_tokens: addFigures(sum.reasoning_tokens, each.reasoning_tokens),
      cost_usd: addCosts(sum.cost_usd, each.cost_usd),
      list_priced_turns: sum.list_priced_turns + each.list_priced_turns,
      list_cost_usd: addCosts(sum.list_cost_usd, each.list_cost_usd)
    }),
    nothing
  )
