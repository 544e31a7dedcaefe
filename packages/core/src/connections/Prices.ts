import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

/** US dollars for a million tokens. */
const Price = Schema.Number.pipe(Schema.finite(), Schema.between(0, 1_000_000))

export const ModelPrice = Schema.Struct({
  input: field(Price, "For input that came from no cache, in US dollars for a million tokens, as all prices."),
  output: field(Price, "For output, that of reasoning with it."),
  cached: field(
    Schema.optionalWith(Price, { exact: true }),
    "For input that came from a cache; the price of other input when absent."
  ),
  cache_write: field(
    Schema.optionalWith(Price, { exact: true }),
    "For input that was written to a cache; the price of other input when absent."
  )
}).annotations({ identifier: "ModelPrice", description: "What a model costs, in US dollars for a million tokens." })
export type ModelPrice = typeof ModelPrice.Type

export const Prices = Schema.Record({
  key: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)),
  value: ModelPrice
})
  .pipe(
    Schema.filter((prices) => Object.keys(prices).length <= 500, {
      message: () => "Input should have at most 500 models"
    })
  )
  .annotations({
    identifier: "Prices",
    description:
      "Prices by the names of the models as agents ask for them; at most 500. `*` is the price of every model that is not named."
  })
export type Prices = typeof Prices.Type

/** The tokens that have a price. `input` has the cached and the written part in it. */
export interface PricedTokens {
  readonly input: number | null
  readonly cached: number | null
  readonly cacheWritten: number | null
  readonly output: number | null
}

/** A dollar for a million tokens is so many billionths of a dollar for one token. */
const nanoUsdPerToken = 1000

/** The cost in whole billionths of a US dollar. Null when the model has no price, or its input or output is unknown. */
export const costOf = (model: string | null, usage: PricedTokens | null, prices: Prices): number | null => {
  const named = model !== null && Object.hasOwn(prices, model) ? prices[model] : undefined
  const price = named ?? (Object.hasOwn(prices, "*") ? prices["*"] : undefined)
  if (price === undefined || usage === null || usage.input === null || usage.output === null) return null
  const [cached, written] = [usage.cached ?? 0, usage.cacheWritten ?? 0]
  const fresh = Math.max(0, usage.input - cached - written)
  const dollars =
    fresh * price.input +
    cached * (price.cached ?? price.input) +
    written * (price.cache_write ?? price.input) +
    usage.output * price.output
  return Math.round(dollars * nanoUsdPerToken)
}
