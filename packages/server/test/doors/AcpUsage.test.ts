import type { SessionUpdate } from "@agentclientprotocol/sdk"
import type { AgentOption, TypedEvent, Usage } from "@reins/client"
import { agentOption, valueFor } from "@reins/server/doors/acp/Settings"
import { UsageUpdates } from "@reins/server/doors/acp/UsageUpdates"
import { assert, describe, it } from "vitest"

const nothing: Usage = {
  input_tokens: null,
  output_tokens: null,
  cached_tokens: null,
  reasoning_tokens: null,
  cost_usd: null,
  source: null,
  calls: 0,
  reported_calls: 0,
  priced_calls: 0
}

const cost = (cost_usd: number | null, calls = 1, priced_calls = calls): Usage => ({
  ...nothing,
  cost_usd,
  source: "gateway",
  calls,
  reported_calls: calls,
  priced_calls: cost_usd === null ? 0 : priced_calls
})

// Boundary: only these parts of the events are read.
const observed = (usage: Usage, context_used: number | null, context_size: number | null) =>
  ({ type: "usage.observed", payload: { usage, context_used, context_size } }) as unknown as TypedEvent
const ended = (usage: Usage) => ({ type: "turn.succeeded", payload: { turn: { usage } } }) as unknown as TypedEvent

const all = (spent: number | null, events: ReadonlyArray<TypedEvent>): ReadonlyArray<SessionUpdate> => {
  const usage = new UsageUpdates(spent)
  return events.flatMap((event) => usage.take(event))
}

const update = (used: number, size: number, amount?: number) => ({
  sessionUpdate: "usage_update",
  used,
  size,
  ...(amount !== undefined && { cost: { amount, currency: "USD" } })
})

describe("the usage that an editor is told", () => {
  it("is nothing where nobody has told the context, and never 0 for unknown", () => {
    assert.deepStrictEqual(all(0, [observed(cost(1), null, null), observed(cost(1), 5, null), ended(cost(1))]), [])
    assert.deepStrictEqual(all(0, [observed(cost(1), null, 200)]), [])
    assert.deepEqual(all(0, [observed(cost(null), 10, 200)]), [update(10, 200)] as never)
    assert.deepEqual(all(0, [observed(nothing, 0, 200)]), [update(0, 200, 0)] as never)
  })

  it("has the cost of the whole session, and leaves it out from the first unknown part on", () => {
    const told = all(0.25, [
      observed(cost(0.5), 10, 200),
      ended(cost(0.5)),
      ended(nothing),
      observed(cost(0.25), 20, 200),
      observed(cost(0.25, 3, 2), 30, 200),
      ended(cost(null)),
      observed(cost(1), 40, 200)
    ])
    const expected = [
      update(10, 200, 0.75),
      update(10, 200, 0.75),
      update(10, 200, 0.75),
      update(20, 200, 1),
      update(30, 200),
      update(30, 200),
      update(40, 200)
    ]
    assert.deepEqual(told, expected as never)
    assert.deepEqual(all(null, [observed(cost(1), 1, 2)]), [update(1, 2)] as never)
  })
})

describe("an option of an agent that is on or off", () => {
  const option: AgentOption = { id: "fast", name: "Fast", description: null, category: null, value: true, choices: [] }

  it("is a switch for an editor that shows switches, and a list of two for others", () => {
    const shared = { id: "agent.fast", name: "Fast" }
    assert.deepEqual(agentOption(option, true), [{ ...shared, type: "boolean", currentValue: true }])
    const options = [
      { value: "on", name: "On" },
      { value: "off", name: "Off" }
    ]
    assert.deepEqual(agentOption(option, false), [{ ...shared, type: "select", currentValue: "on", options }])
    assert.deepStrictEqual(
      [true, false, "on", "off"].map((chosen) => valueFor(option, chosen)),
      [true, false, true, false]
    )
    assert.strictEqual(valueFor({ value: "high" }, "on"), "on")
  })
})
