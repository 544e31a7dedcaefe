import { assert, describe, it } from "@effect/vitest"
import { modelSchema } from "@reins/core/tools/ModelSchema"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as fc from "fast-check"

const string = { type: "string" }
const both = { a: string, b: string }

/** Schemas that gateways refuse, with what models are offered in their place. */
const widened: ReadonlyArray<readonly [what: string, schema: object, offered: object]> = [
  [
    "a choice at its top",
    { type: "object", properties: both, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    { type: "object", properties: both }
  ],
  [
    "a choice alone",
    {
      anyOf: [
        { type: "object", properties: { a: string } },
        { type: "object", properties: { b: string } }
      ]
    },
    { type: "object", properties: both }
  ],
  [
    "a choice that demands a field each time",
    { type: "object", oneOf: [{ properties: both, required: ["a", "b"] }, { required: ["a"] }] },
    { type: "object", properties: both, required: ["a"] }
  ],
  [
    "parts that hold together",
    { allOf: [{ properties: { a: string }, required: ["a"] }, { properties: { b: string } }] },
    { type: "object", properties: both, required: ["a"] }
  ],
  [
    "a reference at its top",
    { $ref: "#/$defs/in", $defs: { in: { properties: { a: string }, required: ["a"] } } },
    {
      type: "object",
      properties: { a: string },
      required: ["a"],
      $defs: { in: { properties: { a: string }, required: ["a"] } }
    }
  ],
  [
    "a field that is another one in each choice",
    {
      oneOf: [{ properties: { a: string } }, { properties: { a: { type: "integer" } } }, { properties: { a: string } }]
    },
    { type: "object", properties: { a: { anyOf: [string, { type: "integer" }] } } }
  ],
  [
    "a condition, a list of values and a refusal at its top",
    { type: "object", if: {}, else: false, enum: [{}], not: { required: ["c"] }, properties: both },
    { type: "object", properties: both }
  ],
  [
    "a list without items",
    { type: "object", properties: { a: { type: "array" } } },
    { type: "object", properties: { a: { type: "array", items: {} } } }
  ],
  [
    "a list without items in a list, and one that may be null",
    { type: "object", properties: { a: { type: "array", items: { type: ["array", "null"] } } } },
    { type: "object", properties: { a: { type: "array", items: { type: ["array", "null"], items: {} } } } }
  ],
  [
    "items by their places",
    { type: "object", properties: { a: { type: "array", items: [string, {}] } } },
    { type: "object", properties: { a: { type: "array", items: { anyOf: [string, {}] } } } }
  ],
  [
    "null for what is left out",
    {
      type: "object",
      required: null,
      properties: { a: { type: "string", enum: null, description: null, default: null } }
    },
    { type: "object", properties: { a: { type: "string", default: null } } }
  ],
  [
    "empty lists, names twice and a schema that is none",
    { type: "object", required: ["a", "a", 7], properties: { a: { enum: [], anyOf: [] }, b: true, c: null } },
    { type: "object", required: ["a"], properties: { a: {}, b: {}, c: {} } }
  ],
  ["no type", { properties: both }, { properties: both, type: "object" }]
]

describe("the schema of an input as models are offered it", () => {
  for (const [what, schema, offered] of widened)
    it(`has no ${what}`, () => {
      assert.deepStrictEqual(modelSchema({ ...schema }), offered)
    })

  it("stays as it is where gateways take it", () => {
    const schema = {
      type: "object",
      properties: { a: { anyOf: [string, { type: "null" }] }, constructor: { type: "array", items: string } },
      required: ["a"],
      additionalProperties: false
    }
    assert.strictEqual(JSON.stringify(modelSchema(schema)), JSON.stringify(schema))
  })

  it("takes each input that a choice of the schema takes", () => {
    const field = fc.constantFrom<object>(string, { type: "array" }, { type: "integer" })
    const part = fc.record(
      { properties: fc.record({ a: field, b: field }), required: fc.subarray(["a", "b"]) },
      { requiredKeys: ["properties"] }
    )
    const parts = fc.array(part, { minLength: 1, maxLength: 3 })
    const schema = fc.record(
      { anyOf: parts, oneOf: parts, allOf: parts, required: fc.subarray(["a", "b"]) },
      { requiredKeys: [] }
    )
    const values: ReadonlyArray<unknown> = ["x", 1, [1], null, undefined]
    const inputs = values.flatMap((a) => values.map((b) => JSON.parse(JSON.stringify({ a, b, c: 1 }))))
    fc.assert(
      fc.property(schema, (given) => {
        const ajv = new Ajv2020({ strict: false })
        const takes = ajv.compile({ type: "object", ...given })
        const takesOffered = ajv.compile(modelSchema({ type: "object", ...given }))
        for (const input of inputs) if (takes(input)) assert.isTrue(takesOffered(input))
      }),
      { numRuns: 30 }
    )
  })
})
