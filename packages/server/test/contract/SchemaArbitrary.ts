import { anyText } from "@reins/testing/AnyText"
import fc from "fast-check"
import { document, type Json } from "./Document.js"

/** Stands in a generated text for the id of the caller's own resource, by path parameter or by the prefix of its id. */
export const own = (name: string): string => `@own(${name})`

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const jsonAt = (schema: Json, key: string): Json => {
  const value = schema[key]
  return isJson(value) ? value : {}
}

const numberAt = (schema: Json, key: string, otherwise: number): number => {
  const value = schema[key]
  return typeof value === "number" ? value : otherwise
}

const texts = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "grapheme", maxLength: 30 }) },
  { weight: 2, arbitrary: anyText({ maxLength: 20 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "",
      "\u0000",
      "a\u0000b",
      "\ud800",
      "../../etc/passwd",
      "%00",
      "null",
      "'; --",
      "\u202e\u{1f600}"
    )
  },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 20_000 }).map((length) => "x".repeat(length)) },
  { weight: 1, arbitrary: fc.constantFrom("sess", "cs", "con", "prj", "wsp", "turn").map(own) }
)

const numbers = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -1, 1e308, -1e308, 1e21, 2 ** 53, 2 ** 31, 2 ** 63, 0.1, -0)
)

const nested = fc.integer({ min: 2, max: 250 }).map((depth) => {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
})

/** Any JSON at all, with what programs trip over. */
export const wild: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: texts },
  { weight: 3, arbitrary: numbers },
  { weight: 3, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], [null], { "": "" }) },
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(JSON.parse('{"__proto__": {"a": 1}}'), { constructor: 1, toString: 2 }) },
  { weight: 1, arbitrary: nested }
)

/** Texts for a query, a header or a path. */
export const wildText: fc.Arbitrary<string> = fc.oneof(texts, numbers.map(String))

const idPrefix = /^\^([a-z]+)_\[0-7\]/

const matching = (pattern: string): fc.Arbitrary<string> => {
  try {
    return fc.stringMatching(new RegExp(pattern, "u"))
  } catch {
    // A class that cannot be generated from: what is not matched is refused, which is an answer too.
    return texts
  }
}

const stringOf = (schema: Json): fc.Arbitrary<string> => {
  const pattern = schema["pattern"]
  if (typeof pattern === "string") {
    const prefix = idPrefix.exec(pattern)?.[1]
    return prefix === undefined
      ? matching(pattern)
      : fc.oneof({ weight: 5, arbitrary: fc.constant(own(prefix)) }, { weight: 1, arbitrary: matching(pattern) })
  }
  if (schema["format"] === "date-time") {
    return fc
      .date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString())
  }
  const minLength = numberAt(schema, "minLength", 0)
  const maxLength = Math.min(numberAt(schema, "maxLength", 40), minLength + 40)
  return fc.string({ unit: "grapheme", minLength, maxLength: Math.max(minLength, maxLength) })
}

const numberOf = (schema: Json): fc.Arbitrary<number> => {
  const min = numberAt(schema, "minimum", 0)
  const max = Math.max(min, numberAt(schema, "maximum", 1000))
  return schema["type"] === "integer" ? fc.integer({ min, max }) : fc.double({ min, max, noNaN: true })
}

const objectOf = (schema: Json, depth: number): fc.Arbitrary<unknown> => {
  const properties = Object.entries(jsonAt(schema, "properties")).flatMap(([name, inner]) =>
    isJson(inner) ? [[name, valid(inner, depth - 1)] as const] : []
  )
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  const known = fc.record(Object.fromEntries(properties), { requiredKeys: required })
  const more = jsonAt(schema, "additionalProperties")
  if (properties.length > 0 || depth < 1) return known
  return fc.dictionary(fc.string({ maxLength: 10 }), Object.keys(more).length === 0 ? wild : valid(more, depth - 1), {
    maxKeys: 4
  })
}

/** Values that satisfy a schema of the document, as far as the schema says. */
export const valid = (schema: Json, depth = 5): fc.Arbitrary<unknown> => {
  const reference = schema["$ref"]
  if (typeof reference === "string") {
    return valid(document.components.schemas[reference.replace("#/components/schemas/", "")] ?? {}, depth)
  }
  const alternatives = schema["anyOf"] ?? schema["oneOf"]
  if (Array.isArray(alternatives)) return fc.oneof(...alternatives.filter(isJson).map((each) => valid(each, depth)))
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...schema["enum"])
  switch (schema["type"]) {
    case "string":
      return stringOf(schema)
    case "integer":
    case "number":
      return numberOf(schema)
    case "boolean":
      return fc.boolean()
    case "null":
      return fc.constant(null)
    case "array":
      return depth < 1 ? fc.constant([]) : fc.array(valid(jsonAt(schema, "items"), depth - 1), { maxLength: 4 })
    case "object":
      return objectOf(schema, depth)
    default:
      return wild
  }
}

/** A valid value with something wrong in it: fields replaced, taken away or added. */
export const bent = (schema: Json): fc.Arbitrary<unknown> =>
  fc
    .tuple(
      valid(schema),
      fc.array(fc.tuple(fc.nat(30), wild, fc.constantFrom("replace" as const, "remove" as const, "add" as const)), {
        minLength: 1,
        maxLength: 3
      })
    )
    .map(([value, bends]) => bends.reduce((current, [at, other, how]) => bend(current, at, other, how), value))

const bend = (value: unknown, at: number, other: unknown, how: "replace" | "remove" | "add"): unknown => {
  if (!isJson(value)) return other
  const keys = Object.keys(value)
  const key = keys[at % Math.max(1, keys.length)]
  if (how === "add" || key === undefined) return { ...value, [`x_${at}`]: other }
  if (how === "remove") return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
  const inner = value[key]
  return { ...value, [key]: at % 3 === 0 && isJson(inner) ? bend(inner, at, other, how) : other }
}
