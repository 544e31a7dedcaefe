import { assert, describe, it } from "@effect/vitest"
import { packagesOfCore, sourcesOf } from "@reins/testing/Sources"
import { share } from "@reins/testing/Volume"
import { foreignPatterns, hostileUnits } from "./ForeignPatterns.js"

/** The shortest time of a few, because others work beside. */
const shortest = (work: () => unknown, times: number): number => {
  let best = Number.POSITIVE_INFINITY
  for (let left = times; left > 0; left--) {
    const from = performance.now()
    work()
    best = Math.min(best, performance.now() - from)
  }
  return best
}

const repeated = (unit: string, length: number) =>
  `${unit.repeat(Math.ceil(length / unit.length)).slice(0, length - 1)}!`

/** The clock tells nothing of shorter times. */
const leastMs = 10

/** So many times longer does twice the text take, by one measure. */
const measuredGrowth = (look: (text: string) => unknown, unit: string, length: number): number => {
  const [once, twice] = [repeated(unit, length), repeated(unit, 2 * length)]
  return (
    shortest(() => look(twice), 2) /
    Math.max(
      leastMs,
      shortest(() => look(once), 2)
    )
  )
}

/** The growth at the quietest of a few measures. */
const growth = (look: (text: string) => unknown, unit: string, length: number): number => {
  // Most work is so short that the shorter text, which counts as the least time, cannot make it grow too much. One look proves that.
  const short = shortest(() => look(repeated(unit, 2 * length)), 1) / leastMs
  return Array.from({ length: 6 }).reduce<number>(
    (least) => (least < mostGrowth ? least : measuredGrowth(look, unit, length)),
    short < mostGrowth ? short : Number.POSITIVE_INFINITY
  )
}

/** The length of the shorter text. Quadratic work takes minutes over either. */
const units = share(50_000, 100_000)

/** Linear work grows twofold, and quadratic work fourfold. */
const mostGrowth = 3

describe("patterns over the words of others", () => {
  for (const [name, { look }] of Object.entries(foreignPatterns))
    it(`${name} takes twice the time for twice the text`, () => {
      for (const unit of hostileUnits) {
        for (const length of [100, 1_000]) look(repeated(unit, length))
        assert.isBelow(growth(look, unit, units), mostGrowth, `${name} over ${JSON.stringify(unit)}`)
      }
    })

  it("a quadratic pattern is found out", () => {
    const isFound = () => measuredGrowth((text) => /[.\s]+$/.test(text), " ", 10_000) > mostGrowth
    // One measure of five is enough, because others work beside.
    assert.isTrue([1, 2, 3, 4, 5].some(isFound))
  })

  it("each function of the core that takes a foreign text is measured", () => {
    const taking = /^export const (\w+) = \((?:[^()]|\([^()]*\))*?: ForeignText[,)]/gm
    const found = sourcesOf(packagesOfCore).flatMap(({ text }) => [...text.matchAll(taking)].map(([, name]) => name))
    const missing = found.filter((name = "") => !(name in foreignPatterns))
    assert.deepStrictEqual(missing, [])
    assert.isAbove(found.length, 5)
  })
})
