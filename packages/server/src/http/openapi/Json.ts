import { Predicate } from "effect"

/** A JSON object of the document. */
export type Json = Readonly<Record<string, unknown>>

/** The fields of an object; none for anything else. */
export const fieldsOf = (value: unknown): Json => (Predicate.isRecord(value) ? value : {})

export const mapFields = (fields: Json, f: (name: string, value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, f(name, value)]))

export const refersTo = (component: string): Json => ({ $ref: `#/components/schemas/${component}` })

/** The schema that an `allOf` wraps, where it has no other and nothing stands beside it: linters refuse such a wrapper. */
export const unwrapped = (schema: Json): Json => {
  const { allOf, ...beside } = schema
  return Array.isArray(allOf) && allOf.length === 1 && Object.keys(beside).length === 0 ? fieldsOf(allOf[0]) : schema
}

/** The name of the component that a schema refers to; undefined for a schema that is written out. */
export const referredBy = (schema: Json): string | undefined => {
  const inner = Array.isArray(schema["allOf"]) && schema["allOf"].length === 1 ? fieldsOf(schema["allOf"][0]) : schema
  const reference = inner["$ref"]
  return typeof reference === "string" ? reference.slice(reference.lastIndexOf("/") + 1) : undefined
}
