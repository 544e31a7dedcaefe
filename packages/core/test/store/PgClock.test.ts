import { assert, describe, it } from "@effect/vitest"
import { Estimate } from "@reins/core/store/PgClock"

describe("what a process knows of the clock of its database", () => {
  it("it is never ahead of the clock, and gets better with answers that come fast", () => {
    const estimate = new Estimate()
    // The clock is 1,000 ahead of the time of this process. Each answer was given somewhere between its question and its arrival.
    estimate.learn(1_010, 0, 40)
    assert.strictEqual(estimate.at(50), 1_020)
    estimate.learn(1_101, 100, 103)
    assert.strictEqual(estimate.at(110), 1_108)
    estimate.learn(1_205, 200, 300)
    assert.strictEqual(estimate.at(310), 1_308)
  })

  it("it follows a clock that was set, ahead and back", () => {
    const estimate = new Estimate()
    estimate.learn(1_001, 0, 2)
    estimate.learn(61_101, 100, 102)
    assert.strictEqual(estimate.at(110), 61_109)
    estimate.learn(1_201, 200, 202)
    assert.strictEqual(estimate.at(210), 1_209)
  })
})
