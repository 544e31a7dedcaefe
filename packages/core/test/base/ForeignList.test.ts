import { assert, describe, it } from "@effect/vitest"
import { oddText, readEach } from "@reins/base/base/ForeignList"
import { Schema } from "effect"
import * as fc from "fast-check"

const Check = Schema.Struct({ name: Schema.String, app: Schema.Struct({ id: Schema.Int }) })
const read = readEach(Check)

const good = fc.record({ name: fc.string(), app: fc.record({ id: fc.integer() }) })
const odd = fc.oneof(
  fc.constantFrom(null, undefined, "text", 7, [], {}, { name: null, app: { id: 1 } }, { name: "x" }),
  fc.record({ name: fc.string(), app: fc.record({ id: fc.string() }) })
)

describe("a list of another program", () => {
  it("loses exactly the elements that cannot be read, and keeps the order of the others", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(good, odd)), (list) => {
        const isGood = Schema.is(Check)
        const { items, odd: left } = read(list)
        assert.deepStrictEqual(items, list.filter(isGood))
        assert.deepStrictEqual(
          left.map(({ at }) => at),
          list.flatMap((element, at) => (isGood(element) ? [] : [at]))
        )
      })
    )
  })

  it("names the odd element and the field, as far as they can be read", () => {
    const said = (element: unknown) => read([element]).odd.map(oddText)
    assert.deepStrictEqual(said({ name: "build", app: { id: "x" } }), ['"build" (field "app.id")'])
    assert.deepStrictEqual(said({ id: 7, app: { id: 1 } }), ['"7" (field "name")'])
    assert.deepStrictEqual(said({ app: { id: 1 } }), ['the 1. element (field "name")'])
    assert.deepStrictEqual(said({ name: "", app: null }), ['the 1. element (field "app")'])
    assert.deepStrictEqual(said(null), ["the 1. element"])
    assert.deepStrictEqual(said({ name: "\u202eevil\u0007\n name", app: 1 }), ['"evil name" (field "app")'])
    assert.isAtMost(said({ name: "a".repeat(100_000), app: 1 }).join("").length, 300)
  })
})
