import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { judged, limitOf, limitSeconds } from "../../../scripts/cost.mjs"

const yards = fc.array(fc.double({ min: 0.1, max: 5, noNaN: true }), { minLength: 1, maxLength: 30 })
const meanOf = (all: ReadonlyArray<number>) => all.reduce((sum, each) => sum + each, 0) / all.length

describe("the limit of the tests", () => {
  it("is passed at 700 processor seconds, where the yardstick is half a second, and not above", () => {
    assert.strictEqual(limitSeconds, 700)
    assert.deepInclude(judged(700, [0.5]), { told: 700, isOver: false })
    assert.deepInclude(judged(701, [0.5]), { told: 701, isOver: true })
  })

  it("holds for tests that cost more than it at any speed, and for no others", () => {
    fc.assert(
      fc.property(yards, fc.integer({ min: 1, max: 2000 }), (all, seconds) => {
        const { isOver, told } = judged((seconds * meanOf(all)) / 0.5, all)
        assert.strictEqual(told, seconds)
        assert.strictEqual(isOver, seconds > limitSeconds)
      })
    )
  })

  it("fails nobody for a slow or busy machine", () => {
    const slower = fc.double({ min: 1, max: 10, noNaN: true })
    fc.assert(
      fc.property(yards, fc.double({ min: 1, max: 2000, noNaN: true }), slower, (all, cost, times) => {
        const slow = judged(
          cost * times,
          all.map((each) => each * times)
        )
        assert.isAtMost(Math.abs(Number(slow.told) - Number(judged(cost, all).told)), 1)
      })
    )
  })

  it("is passed by nothing that was not measured", () => {
    assert.deepInclude(judged(1, []), { told: null, isOver: true })
  })

  it("is lowered and never raised by whoever asks for another one", () => {
    assert.strictEqual(limitOf("100"), 100)
    for (const asked of [undefined, "", "701", "0", "-5", "much", "Infinity"])
      assert.strictEqual(limitOf(asked), limitSeconds)
    assert.isTrue(judged(101, [0.5], limitOf("100")).isOver)
  })
})
