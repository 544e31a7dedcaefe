import { assert, describe, it } from "@effect/vitest"
import { anyText } from "@reins/testing/AnyText"
import * as fc from "fast-check"
import { canonicalJson, digestedJson, digestOf } from "../../../base/src/base/CanonicalJson.js"

const json = fc.jsonValue({ depthSize: "medium", stringUnit: "binary" })

/** The same value with the keys of every object in another order. */
const turned = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(turned)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, turned(inner)] as const)
      .reverse()
  )
}

/** The names of every object of a text, in the order in which they stand there. */
const namesOf = (text: string): ReadonlyArray<ReadonlyArray<string>> => {
  const found: Array<ReadonlyArray<string>> = []
  JSON.parse(text, (_, value: unknown) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) found.push(Object.keys(value))
    return value
  })
  return found
}

/** Keys that stay where they are written: numbers would come first. */
const word = anyText({ maxLength: 5 }).map((text) => `k${text}`)
const { worded } = fc.letrec((tie) => ({
  worded: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null)
    ),
    fc.array(tie("worded"), { maxLength: 4 }),
    fc.dictionary(word, tie("worded"), { maxKeys: 6 })
  )
}))

describe("canonicalJson", () => {
  it("holds the value, so that different values give different text", () => {
    fc.assert(
      fc.property(json, (value) =>
        assert.deepStrictEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)))
      ),
      { numRuns: 1000 }
    )
  })

  it("is the same text for the same value, whatever the order of its keys", () => {
    fc.assert(
      fc.property(json, (value) => {
        assert.strictEqual(canonicalJson(turned(value)), canonicalJson(value))
        assert.strictEqual(canonicalJson(JSON.parse(canonicalJson(value))), canonicalJson(value))
      }),
      { numRuns: 1000 }
    )
  })

  it("has the keys in the order of their code units and no white space", () => {
    fc.assert(
      fc.property(worded, (value) => {
        const text = canonicalJson(value)
        for (const names of namesOf(text)) assert.deepStrictEqual(names, [...names].sort())
        assert.strictEqual(text, JSON.stringify(JSON.parse(text)))
      }),
      { numRuns: 1000 }
    )
  })

  it("treats what JSON has no word for as JSON.stringify does", () => {
    const odd = { z: undefined, a: [undefined, Number.NaN, -0], "\ud800": "\ud800" }
    assert.strictEqual(canonicalJson(odd), '{"a":[null,null,0],"\\ud800":"\\ud800"}')
  })

  it("has texts beyond the limit by their digest, and tells them apart", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 30 }),
        fc.string({ maxLength: 30 }),
        fc.nat({ max: 20 }),
        (one, other, longest) => {
          const shown = JSON.stringify(one.length > longest ? digestOf(one) : one)
          assert.strictEqual(digestedJson({ a: [one] }, longest), `{"a":[${shown}]}`)
          assert.strictEqual(digestedJson(one, longest) === digestedJson(other, longest), one === other)
        }
      ),
      { numRuns: 1000 }
    )
  })
})
