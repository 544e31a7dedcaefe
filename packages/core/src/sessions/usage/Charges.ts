import type { ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import type { Charge } from "../../budgets/BudgetStore.js"
import { costOf, type Prices } from "../../connections/Prices.js"

/** Gateways count about so many bytes of a request as one token. */
const bytesPerToken = 4

/** The tokens of a request whose length nobody has said. */
const tokensWithoutLength = 4000

/** The estimate that a call counts with while nobody knows what it has used. It goes by the request, because there is no answer yet. */
export const estimateOf = (requestBytes: number | null, model: string | null, prices: Prices): Charge => {
  const tokens = requestBytes === null ? tokensWithoutLength : Math.max(1, Math.ceil(requestBytes / bytesPerToken))
  return { tokens, nanoUsd: pricedOf(model, { input: tokens, output: 0 }, prices) }
}

/**
 * The charge for a call of a turn with this model. A call that the gateway has refused, or that has not reached it, costs nothing. Undefined
 * when the gateway has not said what the call used.
 */
export const chargeOf = (call: ModelCall, model: string | null, prices: Prices): Charge | undefined => {
  const { outcome, usage } = call
  const [input, output] = [usage?.input ?? null, usage?.output ?? null]
  if (input === null && output === null)
    return outcome === "refused" || outcome === "unreachable" ? { tokens: 0, nanoUsd: null } : undefined
  const known = { ...usage, input: input ?? 0, output: output ?? 0 }
  return {
    tokens: known.input + known.output,
    nanoUsd: pricedOf(call.model, known, prices) ?? pricedOf(model, known, prices)
  }
}

interface Tokens {
  readonly input: number
  readonly output: number
  readonly cached?: number | null
  readonly cacheWritten?: number | null
}

/** The cost by the price of the model. A model without a price costs as much as the dearest one that has a price. */
const pricedOf = (model: string | null, tokens: Tokens, prices: Prices): number | null => {
  const whole = { cached: null, cacheWritten: null, ...tokens }
  const own = costOf(model, whole, prices)
  if (own !== null) return own
  const costs = Object.keys(prices).flatMap((name) => costOf(name, whole, prices) ?? [])
  return costs.length === 0 ? null : Math.max(...costs)
}

/** True when the prices say what the model costs. An agent that chooses its model needs a price for every one. */
export const isPriced = (model: string | null, prices: Prices): boolean =>
  costOf(model, { input: 0, output: 0, cached: null, cacheWritten: null }, prices) !== null
