import { assert, describe, it } from "@effect/vitest"
import { inSlices, sliceLength, slicesOf } from "@reins/base/base/Slices"
import { Effect } from "effect"
import * as fc from "fast-check"

describe("slices", () => {
  it("are the text, and end at white space", () => {
    const word = fc.tuple(fc.integer({ min: 1, max: 3 * sliceLength }), fc.constantFrom(" ", "\n", "", "名"))
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (words) => {
        const text = words.map(([length, end]) => "a".repeat(length) + end).join("")
        const slices = [...slicesOf(text)]
        assert.strictEqual(slices.join(""), text)
        for (const slice of slices.slice(0, -1)) assert.match(slice, /^\S*(?:\s\S*)*\s$/)
      }),
      { numRuns: 20 }
    )
  })

  it.live("others are served after each slice", () =>
    Effect.gen(function* () {
      let turns = 0
      let isOver = false
      const tick = () => {
        turns += 1
        if (!isOver) setImmediate(tick)
      }
      setImmediate(tick)
      const sum = yield* inSlices(function* () {
        let total = 0
        for (let piece = 0; piece < 64; piece++) {
          yield sliceLength / 2
          total += piece
        }
        return total
      })
      isOver = true
      assert.strictEqual(sum, 2016)
      assert.isAtLeast(turns, 31)
    })
  )
})
