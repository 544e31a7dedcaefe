import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"
import list from "../../../../manifests/prices.json" with { type: "json" }
import { costOf, ModelPrice, type PricedTokens } from "./Prices.js"

export const ListPrice = Schema.Struct({
  ...ModelPrice.fields,
  source: field(Schema.String, "The page on which the vendor lists its prices, for comparison."),
  date: field(Schema.String, "The day of the publication that the price was taken from, as in `2026-01-31`.")
}).annotations({
  identifier: "ListPrice",
  description:
    "The price that a vendor publishes for a model, as this release of Reins knows it. A connection can cost something else."
})
export type ListPrice = typeof ListPrice.Type

/** The list prices of well-known models, by name. Each names its source and its day. */
export const listPrices: Readonly<Record<string, ListPrice>> = list.models

/** A gateway may put the vendor before the name, and the vendor a day behind it. */
const decoration = /^(?:[\w.-]+\/)?(.+?)(?:[-@]\d{4}-?\d{2}-?\d{2})?$/

/** The list price of a model by its name, as in `gpt-5.4`, `openai/gpt-5.4` or `gpt-5.4-2026-03-05`. Null when the list has none. */
export const listPriceOf = (model: string | null): ListPrice | null => {
  if (model === null) return null
  const name = [model, decoration.exec(model)?.[1] ?? model].find((each) => Object.hasOwn(listPrices, each))
  return (name === undefined ? undefined : listPrices[name]) ?? null
}

/** The cost by list prices, in US dollars. Null when the list has no price for the model, or the input or output is unknown. */
export const listCostOf = (model: string | null, tokens: PricedTokens): number | null => {
  const price = listPriceOf(model)
  const nanos = price === null ? null : costOf("*", tokens, { "*": price })
  return nanos === null ? null : nanos / 1e9
}
