import { assert, describe, it } from "@effect/vitest"
import { MessageId } from "@reins/base/domain/Ids"
import { TurnOutput } from "@reins/core/execution/run/TurnOutput"
import { noUsage } from "@reins/core/sessions/rows/Session"
import type { HarnessEvent, HarnessUsage } from "@reins/machine/harness/HarnessEvent"
import type { ModelCall } from "@reins/machine/relay/gateway/ModelCall"

const tokens = { input_tokens: null, output_tokens: null, cached_tokens: null, reasoning_tokens: null }
const costing = (amount: number, currency = "USD"): HarnessEvent => ({
  _tag: "usage",
  scope: "context",
  ...tokens,
  context_used: 5,
  context_size: 10,
  cost: { amount, currency }
})
const using = (scope: HarnessUsage["scope"], input_tokens: number): HarnessEvent => ({
  _tag: "usage",
  scope,
  ...tokens,
  input_tokens
})

const outputOf = (costBefore: number | null, events: ReadonlyArray<HarnessEvent>) => {
  const output = new TurnOutput(MessageId.make("msg_01m82ym0t2ecgbhqyy5xph172w"), {}, costBefore)
  return { output, told: output.events(events).map(({ payload }) => payload) }
}

describe("the usage that an agent reports", () => {
  it("has the cost since the turn before, of an agent that counts it over its session", () => {
    const turns = [[0.01], [0.015, 0.02], [0.0389]]
    let before: number | null = null
    const costs = turns.map((amounts) => {
      const { output } = outputOf(
        before,
        amounts.map((amount) => costing(amount))
      )
      before = output.nativeCost
      return output.reported.cost_usd
    })
    assert.deepStrictEqual(costs, [0.01, 0.01, 0.0189])
    assert.strictEqual(outputOf(0.0389, [costing(0.002)]).output.reported.cost_usd, 0.002)
    const { output } = outputOf(0.5, [costing(7, "EUR")])
    assert.deepStrictEqual([output.reported, output.nativeCost], [noUsage, 0.5])
  })

  it("is that of the turn, and not that of its last call", () => {
    assert.deepInclude(outputOf(null, [using("turn", 7)]).output.reported, { input_tokens: 7, source: "agent" })
    assert.deepStrictEqual(outputOf(null, [using("last_call", 7)]).output.reported, noUsage)
  })

  it("is not told where the relay has seen the calls", () => {
    const call: ModelCall = {
      protocol: "openai_chat",
      model: "m",
      hasTools: true,
      startedAt: 0,
      endedAt: 1,
      outcome: "answered",
      status: 200,
      words: null,
      names: "",
      pauseMs: null,
      lack: null,
      usage: { input: 100, cached: 40, cacheWritten: 10, output: 5, reasoning: null }
    }
    const { output } = outputOf(null, [using("turn", 7)])
    assert.isEmpty(output.witnessed([], {}))
    output.witnessed([call], {})
    const prices = { m: { input: 2, cached: 1, cache_write: 4, output: 10 } }
    const [event] = output.witnessed([call, { ...call, usage: null }], prices)
    const seen = {
      input_tokens: 200,
      output_tokens: 10,
      cached_tokens: 80,
      reasoning_tokens: null,
      source: "gateway" as const
    }
    // Of the priced call 50 tokens are fresh, 40 from a cache, 10 written to it and 5 are output.
    const usage = { ...seen, cost_usd: 0.00023, calls: 3, reported_calls: 2, priced_calls: 1 }
    assert.deepStrictEqual(event?.payload, { usage, context_used: null, context_size: null })
    const [later] = output.events([costing(0.5)])
    assert.deepStrictEqual(later?.payload, { usage, context_used: 5, context_size: 10 })
  })
})
