import { canonicalJson } from "@reins/base/base/CanonicalJson"

// Model gateways refuse a whole request for one tool with a schema that they do not take. So models are offered one that says less: the fields of all
// choices, without the rule of the choice. Whoever has the tool still checks the input against the schema itself.

type Json = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ofOne = new Set(["additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"])
const ofMany = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])
const ofNames = new Set(["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"])

/** Keywords that gateways refuse beside the properties of an input. */
const notAtTop = new Set(["$ref", "allOf", "anyOf", "const", "else", "enum", "if", "not", "oneOf", "then"])

const schemaOf = (given: unknown): unknown =>
  isRecord(given) ? widened(given) : typeof given === "boolean" ? given : {}

const byName = (given: Json): Json =>
  Object.fromEntries(Object.entries(given).map(([name, inner]) => [name, isRecord(inner) ? widened(inner) : {}]))

/** The value of a keyword as gateways take it; undefined where nothing of it is left. */
const valueOf = (keyword: string, given: unknown): unknown => {
  if (given === null && keyword !== "const" && keyword !== "default") return undefined
  // A list of schemas for the places of an array is of an older draft.
  if (keyword === "items" && Array.isArray(given)) return { anyOf: given.map(schemaOf) }
  if (ofOne.has(keyword)) return schemaOf(given)
  if (ofMany.has(keyword)) return Array.isArray(given) && given.length > 0 ? given.map(schemaOf) : undefined
  if (ofNames.has(keyword)) return isRecord(given) ? byName(given) : undefined
  if (keyword === "enum") return Array.isArray(given) && given.length > 0 ? given : undefined
  if (keyword !== "required") return given
  return Array.isArray(given) ? [...new Set(given.filter((name) => typeof name === "string"))] : undefined
}

const widened = (schema: Json): Json => {
  const entries = Object.entries(schema).flatMap(([keyword, given]): ReadonlyArray<readonly [string, unknown]> => {
    const value = valueOf(keyword, given)
    return value === undefined ? [] : [[keyword, value]]
  })
  const isList = [schema["type"]].flat().includes("array")
  const hasItems = entries.some(([keyword]) => keyword === "items")
  return Object.fromEntries(isList && !hasItems ? [...entries, ["items", {}]] : entries)
}

/** The schema that a reference within a schema leads to. */
const referred = (schema: Json, reference: unknown): ReadonlyArray<Json> => {
  const [, place = "", name = ""] =
    typeof reference === "string" ? (/^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? []) : []
  const places = schema[place]
  const found = isRecord(places) && Object.hasOwn(places, name) ? places[name] : undefined
  return isRecord(found) ? [found] : []
}

const listOf = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.filter(isRecord) : [])

const namesOf = ({ required }: Json): ReadonlyArray<unknown> => (Array.isArray(required) ? required : [])

/** The properties of schemas. One that is not the same in all of them may be as any of them says. */
const fieldsOf = (parts: ReadonlyArray<Json>): Json => {
  const found = new Map<string, ReadonlyArray<unknown>>()
  for (const { properties } of parts)
    for (const [name, schema] of Object.entries(isRecord(properties) ? properties : {})) {
      const before = found.get(name) ?? []
      const isKnown = before.some((known) => canonicalJson(known) === canonicalJson(schema))
      if (!isKnown) found.set(name, [...before, schema])
    }
  return Object.fromEntries(
    [...found].map(([name, schemas]) => [name, schemas.length === 1 ? schemas[0] : { anyOf: schemas }])
  )
}

/** The properties and demands of the schemas that are put together at the top of another one. */
const merged = (schema: Json): Json => {
  const all = [...listOf(schema["allOf"]), ...referred(schema, schema["$ref"])]
  const choices = [listOf(schema["anyOf"]), listOf(schema["oneOf"])].filter((choice) => choice.length > 0)
  const parts = [...choices.flat(), ...all]
  // One of several is demanded where each of them demands it.
  const ofChoices = choices.flatMap(([first = {}, ...rest]) =>
    namesOf(first).filter((name) => rest.every((other) => namesOf(other).includes(name)))
  )
  const required = [...new Set([...namesOf(schema), ...all.flatMap(namesOf), ...ofChoices])]
  return {
    ...Object.fromEntries(
      Object.entries(schema).filter(([keyword]) => !notAtTop.has(keyword) && keyword !== "additionalProperties")
    ),
    properties: { ...fieldsOf(parts), ...fieldsOf([schema]) },
    ...(required.length > 0 && { required })
  }
}

/** The schema of an input as models are offered it. One that gateways take stays as it is. */
export const modelSchema = (schema: Json): Json => {
  const isPlain = !Object.keys(schema).some((keyword) => notAtTop.has(keyword))
  return { ...widened(isPlain ? schema : merged(schema)), type: "object" }
}
