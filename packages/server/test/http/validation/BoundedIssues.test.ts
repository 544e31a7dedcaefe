import { it } from "@effect/vitest"
import { withBoundedIssues } from "@reins/server/http/validation/BoundedIssues"
import { toDetails } from "@reins/server/http/validation/Validation"
import { Either, ParseResult, Schema } from "effect"
import * as fc from "fast-check"
import { assert, describe } from "vitest"

const Wanted = Schema.Struct({
  name: Schema.String,
  tags: Schema.optional(Schema.Array(Schema.Int).pipe(Schema.maxItems(5))),
  labels: Schema.Record({ key: Schema.String, value: Schema.NullOr(Schema.String) }),
  content: Schema.Union(
    Schema.String,
    Schema.Array(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }))
  ),
  since: Schema.optionalWith(Schema.NumberFromString, { exact: true })
})

const most = 3
const bounded = ParseResult.decodeUnknownEither(withBoundedIssues(Wanted, most), { errors: "all" })
const whole = ParseResult.decodeUnknownEither(Wanted, { errors: "all" })

const told = (decoded: ReturnType<typeof whole>, input: unknown) =>
  Either.isRight(decoded) ? decoded.right : toDetails(["body"], decoded.left, input)

/** Fewer wrong members than are looked for in one value, of every kind, among right ones. The schema itself loses `__proto__`. */
const inputs = fc
  .oneof(
    fc.jsonValue(),
    fc.record(
      {
        name: fc.oneof(fc.string(), fc.integer()),
        tags: fc.oneof(fc.array(fc.integer()), fc.array(fc.string(), { maxLength: most - 1 }), fc.constant({})),
        labels: fc.oneof(
          fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.constant(null))),
          fc.dictionary(fc.string(), fc.integer(), { maxKeys: most - 1 }),
          fc.array(fc.integer())
        ),
        content: fc.oneof(
          fc.string(),
          fc.integer(),
          fc.array(fc.record({ type: fc.constant("text"), text: fc.string() })),
          fc.array(fc.record({ type: fc.string(), text: fc.oneof(fc.string(), fc.integer()) }), { maxLength: most - 1 })
        ),
        since: fc.oneof(fc.constant("5"), fc.constant("x"))
      },
      { requiredKeys: [] }
    )
  )
  .filter((input) => !JSON.stringify(input).includes('"__proto__":'))

describe("a schema with bounded issues", () => {
  it("takes and refuses what the schema does, in the same words", () => {
    fc.assert(
      fc.property(inputs, (input) => {
        assert.deepStrictEqual(told(bounded(input), input), told(whole(input), input))
      })
    )
  })

  it("refuses a member of the name __proto__, which the schema itself loses", () => {
    const input: unknown = JSON.parse('{ "name": "a", "labels": { "__proto__": "b" }, "content": "c" }')
    assert.deepStrictEqual(told(bounded(input), input), [
      {
        type: "value_error",
        loc: ["body", "labels", "__proto__"],
        msg: "Value error, A member cannot have the name __proto__",
        input: "b",
        ctx: { error: {} }
      }
    ])
    assert.isTrue(Either.isRight(whole(input)))
  })

  it("looks at no member of a list or record after the last one that is told of", () => {
    let looked = 0
    const counted = Schema.String.pipe(
      Schema.filter(() => {
        looked++
        return false
      })
    )
    const schemas = [
      { schema: Schema.Array(counted), input: Array.from({ length: 10_000 }, String) },
      {
        schema: Schema.Record({ key: Schema.String, value: counted }),
        input: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, "v"]))
      }
    ]
    for (const { input, schema } of schemas) {
      looked = 0
      const decode = ParseResult.decodeUnknownEither(
        withBoundedIssues(Schema.Struct({ inner: Schema.NullOr(schema) }), most),
        { errors: "all" }
      )
      assert.isTrue(Either.isLeft(decode({ inner: input })))
      assert.strictEqual(looked, most)
    }
  })
})
