import { Schema } from "effect"
import { field } from "./Field.js"
import type { Usage } from "./Session.js"

const tokens = (what: string) =>
  field(
    Schema.NullOr(Schema.Int),
    `${what} of the reported turns, summed up. Null when no turn reported its usage: unknown is not nothing.`
  )

export const UsageSum = Schema.Struct({
  turns: field(Schema.Int, "The turns that were started and have ended. Those that still run are not in any figure."),
  reported_turns: field(Schema.Int, "Those of them whose agent reported its tokens: the tokens are summed over these."),
  priced_turns: field(Schema.Int, "Those of them whose agent reported a cost: `cost_usd` is summed over these."),
  input_tokens: tokens("Tokens that the models read"),
  output_tokens: tokens("Tokens that the models wrote"),
  cached_tokens: tokens("Tokens that came from the caches of gateways"),
  reasoning_tokens: tokens("Tokens of reasoning"),
  cost_usd: field(
    Schema.NullOr(Schema.Number),
    "US dollars, as the agents reported them, over the priced turns. Null when no turn reported a cost."
  )
}).annotations({
  identifier: "UsageSum",
  description: "Usage summed up, with the number of turns that each figure was taken over."
})
export type UsageSum = typeof UsageSum.Type

/** The sums as they are kept: unknown figures add nothing, and the counts tell what is known. */
export interface UsageCounts extends Usage {
  readonly turns: number
  readonly reported_turns: number
  readonly priced_turns: number
  readonly cost_usd: number
}

const nothing: UsageCounts = {
  turns: 0,
  reported_turns: 0,
  priced_turns: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_usd: 0
}

/** What one turn adds. A turn without a report has no tokens and no cost. */
export const countsOf = ({ cost_usd, ...counted }: Usage): UsageCounts => ({
  ...counted,
  turns: 1,
  reported_turns: cost_usd !== null || Object.values(counted).some((count) => count !== 0) ? 1 : 0,
  priced_turns: cost_usd === null ? 0 : 1,
  cost_usd: cost_usd ?? 0
})

/** The sum of counts. */
export const addCounts = (all: ReadonlyArray<UsageCounts>): UsageCounts =>
  all.reduce(
    (sum, each) => ({
      turns: sum.turns + each.turns,
      reported_turns: sum.reported_turns + each.reported_turns,
      priced_turns: sum.priced_turns + each.priced_turns,
      input_tokens: sum.input_tokens + each.input_tokens,
      output_tokens: sum.output_tokens + each.output_tokens,
      cached_tokens: sum.cached_tokens + each.cached_tokens,
      reasoning_tokens: sum.reasoning_tokens + each.reasoning_tokens,
      cost_usd: sum.cost_usd + each.cost_usd
    }),
    nothing
  )

/** The counts as clients see them. */
export const toUsageSum = (counts: UsageCounts): UsageSum => {
  const known = (count: number) => (counts.reported_turns === 0 ? null : count)
  return {
    turns: counts.turns,
    reported_turns: counts.reported_turns,
    priced_turns: counts.priced_turns,
    input_tokens: known(counts.input_tokens),
    output_tokens: known(counts.output_tokens),
    cached_tokens: known(counts.cached_tokens),
    reasoning_tokens: known(counts.reasoning_tokens),
    cost_usd: counts.priced_turns === 0 ? null : counts.cost_usd
  }
}
