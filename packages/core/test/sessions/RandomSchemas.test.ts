import { assert, it } from "@effect/vitest"
import { ResultSchemas } from "@reins/core/sessions/results/ResultSchemas"
import { faultsOf } from "@reins/testing/Faults"
import { randomSchemas } from "@reins/testing/Volume"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect, Either } from "effect"
import * as fc from "fast-check"

type Json = null | boolean | number | string | Array<Json> | { [key: string]: Json }
type Schema = Readonly<Record<string, Json>>

/** Few names, so that schemas and values meet. Objects have some of them by birth. */
const name = fc.constantFrom("a", "b", "c d", "e/f~", "constructor", "toString", "__proto__")
/** An object as JSON.parse makes it, in which `__proto__` is a name like others. */
const objectOf = (entries: ReadonlyArray<readonly [string, Json]>): Record<string, Json> =>
  JSON.parse(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")}}`)

const scalar = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, -1, 1.5, 2, "", "ab", "😀"),
  fc.integer({ min: -3, max: 3 }),
  fc.string({ maxLength: 3 })
)
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie("json")), { maxLength: 3 }).map(objectOf)
  )
}))

const types = ["null", "boolean", "integer", "number", "string", "array", "object"]
const count = fc.integer({ min: 0, max: 3 })
const number = fc.integer({ min: -3, max: 3 })

const keyword = (key: string, value: fc.Arbitrary<Json>) =>
  fc.tuple<[string, Json]>(fc.constant(key) as fc.Arbitrary<string>, value)
const schemaOf = (keywords: ReadonlyArray<fc.Arbitrary<[string, Json]>>) =>
  fc.array(fc.oneof(...keywords), { maxLength: 3 }).map((entries): Schema => objectOf(entries))

const leaves = [
  keyword("type", fc.constantFrom(...types)),
  keyword("type", fc.uniqueArray(fc.constantFrom(...types), { minLength: 1, maxLength: 3 })),
  keyword("enum", fc.array(json, { minLength: 1, maxLength: 4 })),
  keyword("const", json),
  keyword("minimum", number),
  keyword("exclusiveMaximum", number),
  keyword("minLength", count),
  keyword("maxLength", count),
  keyword("minItems", count),
  keyword("maxItems", count),
  keyword("minProperties", count),
  keyword("uniqueItems", fc.boolean()),
  keyword("required", fc.uniqueArray(name, { maxLength: 3 })),
  keyword("additionalProperties", fc.constant(false))
]
const { schema } = fc.letrec<{ schema: Schema }>((tie) => {
  const inner = tie("schema") as fc.Arbitrary<Record<string, Json>>
  const some = fc.array(inner, { minLength: 1, maxLength: 3 })
  return {
    schema: fc.oneof(
      { maxDepth: 3, depthSize: "medium" },
      schemaOf(leaves),
      schemaOf([
        ...leaves,
        keyword("items", inner),
        keyword("prefixItems", some),
        keyword("properties", fc.array(fc.tuple(name, inner), { maxLength: 3 }).map(objectOf)),
        keyword("additionalProperties", inner),
        keyword("allOf", some),
        keyword("anyOf", some),
        keyword("oneOf", some),
        keyword("not", inner)
      ])
    )
  }
})

/** A schema with a value of a keyword, or a keyword, that may be wrong. */
const spoiled = fc
  .tuple(
    schema,
    fc.constantFrom(
      "type",
      "enum",
      "minimum",
      "minLength",
      "items",
      "properties",
      "required",
      "allOf",
      "not",
      "$ref",
      "pattern",
      "$async"
    ),
    json
  )
  .chain(([inner, key, value]) => {
    const wrong = { ...inner, [key]: value }
    return fc.constantFrom<Schema>(
      wrong,
      { type: "object", properties: { a: wrong } },
      { anyOf: [{ type: "null" }, wrong] }
    )
  })

const typeOf = (value: Json): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)
const isType = (type: Json, value: Json): boolean =>
  type === "integer" ? Number.isInteger(value) : type === typeOf(value)

/** True for values that JSON holds to be the same. */
const isSame = (one: Json, other: Json): boolean => {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(Reflect.get(one, key), Reflect.get(other, key)))
  )
}

/** True for a value that the draft accepts. It is written by hand for the keywords above, and shares nothing with the validator. */
const fits = (of: Json, value: Json): boolean => {
  if (typeof of === "boolean") return of
  const rules = of as Schema
  const all = (key: string) => (rules[key] ?? []) as Array<Json>
  const count = (key: string) => rules[key] as number
  const has = (key: string) => Object.hasOwn(rules, key)
  if (has("type") && ![rules["type"] ?? null].flat().some((type) => isType(type, value))) return false
  if (has("enum") && !all("enum").some((each) => isSame(each, value))) return false
  if (has("const") && !isSame(rules["const"] as Json, value)) return false
  if (!all("allOf").every((each) => fits(each, value))) return false
  if (has("anyOf") && !all("anyOf").some((each) => fits(each, value))) return false
  if (has("oneOf") && all("oneOf").filter((each) => fits(each, value)).length !== 1) return false
  if (has("not") && fits(rules["not"] as Json, value)) return false
  if (typeof value === "number") return !(value < count("minimum")) && !(value >= count("exclusiveMaximum"))
  if (typeof value === "string")
    return !([...value].length < count("minLength")) && !([...value].length > count("maxLength"))
  if (Array.isArray(value)) {
    if (value.length < count("minItems") || value.length > count("maxItems")) return false
    if (
      rules["uniqueItems"] === true &&
      value.some((each, at) => value.slice(0, at).some((other) => isSame(each, other)))
    )
      return false
    const first = all("prefixItems")
    return value.every((each, at) => fits(first[at] ?? rules["items"] ?? true, each))
  }
  if (typeof value !== "object" || value === null) return true
  const known = rules["properties"] ?? {}
  const entries = Object.entries(value)
  if (entries.length < count("minProperties")) return false
  if (!all("required").every((key) => Object.hasOwn(value, String(key)))) return false
  return entries.every(([key, each]) =>
    fits(
      Object.hasOwn(known as object, key) ? Reflect.get(known as object, key) : (rules["additionalProperties"] ?? true),
      each
    )
  )
}

it(
  "random schemas are accepted, and values get the verdict that the draft gives",
  () =>
    fc.assert(
      fc.asyncProperty(schema, fc.array(json, { minLength: 1, maxLength: 4 }), async (given, values) => {
        const schemas = await service
        const accepted = await Effect.runPromise(Effect.either(schemas.checkSchema(given)))
        // The validator passes over this name, so it is refused.
        assert.strictEqual(Either.isLeft(accepted), JSON.stringify(given).includes('"__proto__":'))
        if (Either.isLeft(accepted)) return
        for (const value of values) {
          const verdict = await Effect.runPromise(
            Effect.either(schemas.checkResult(given, { value, summary: "Done." }))
          )
          assert.strictEqual(Either.isRight(verdict), fits(given, value))
          if (Either.isLeft(verdict))
            for (const { loc } of faultsOf(verdict.left)) assert.deepStrictEqual(loc.slice(0, 2), ["body", "value"])
        }
      }),
      { numRuns: randomSchemas }
    ),
  120_000
)

it(
  "a schema that may be wrong is refused at its place, or accepted, as the validator itself does",
  () =>
    fc.assert(
      fc.asyncProperty(spoiled, json, async (given, value) => {
        const schemas = await service
        const loc = ["body", "tools", "functions", "0", "input_schema"]
        const taken = await Effect.runPromise(Effect.either(schemas.checkSchema(given, loc)))
        const known = compiled(given)
        assert.strictEqual(Either.isRight(taken), known !== undefined)
        if (Either.isLeft(taken))
          assert.deepStrictEqual(
            faultsOf(taken.left).map((fault) => fault.loc),
            [loc]
          )
        if (known === undefined) return
        const fit = await Effect.runPromise(Effect.either(schemas.checkResult(given, { value })))
        const verdict = known(value)
        if (verdict !== undefined) assert.strictEqual(Either.isRight(fit), verdict)
      }),
      { numRuns: randomSchemas }
    ),
  120_000
)

const service = Effect.runPromise(Effect.provide(ResultSchemas, ResultSchemas.layer))

/** The check of a schema by the validator itself; undefined for what is no schema. It gives none for values in which `toString` is a name. */
const compiled = (given: Schema): ((value: Json) => boolean | undefined) | undefined => {
  if ("$async" in given || JSON.stringify(given).includes('"__proto__":')) return undefined
  try {
    const validate = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true, logger: false }).compile(
      given
    )
    return (value) => {
      try {
        return validate(value) === true
      } catch {
        return undefined
      }
    }
  } catch {
    return undefined
  }
}

it("schemas and values of great depth are refused at their place, and nothing ends for them", async () => {
  const schemas = await service
  const nested = (depth: number, open: string, close: string) =>
    JSON.parse(`${open.repeat(depth)}{}${close.repeat(depth)}`)
  for (const depth of [100, 1000, 5000]) {
    const deep = nested(depth, '{"not":', "}")
    const verdict = await Effect.runPromise(Effect.either(schemas.checkSchema(deep)))
    if (Either.isLeft(verdict))
      assert.deepStrictEqual(
        faultsOf(verdict.left).map(({ loc }) => loc),
        [["body", "result_schema"]]
      )
    else await Effect.runPromise(Effect.either(schemas.checkResult(deep, { value: 1 })))
  }
  const list = { $ref: "#/$defs/list", $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } } }
  const verdict = await Effect.runPromise(Effect.either(schemas.checkResult(list, { value: nested(5000, "[", "]") })))
  assert.isTrue(Either.isLeft(verdict))
  const endless = await Effect.runPromise(Effect.either(schemas.checkResult({ $ref: "#" }, { value: 1 })))
  assert.isTrue(Either.isLeft(endless))
})
