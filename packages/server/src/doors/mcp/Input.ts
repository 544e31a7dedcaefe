import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server"
import { z } from "zod"

// Models, and the programs that fill in forms for them, send what they do not mean: null, "", numbers as text, one text in the place of a list.

/** The schema of the input of a tool. It is told exactly, and made once. An argument that may be absent is so as null and as an empty text, too. */
export const inputOf = <Shape extends z.ZodRawShape>(shape: Shape): StandardSchemaWithJSON => {
  const exact = z.object(shape)
  let told: Record<string, unknown> | undefined
  const json = () => {
    told ??= z.toJSONSchema(exact, { target: "draft-2020-12", io: "input" })
    return told
  }
  return {
    "~standard": {
      version: 1,
      vendor: "reins",
      validate: (given) => exact["~standard"].validate(meantBy(shape, given)),
      jsonSchema: { input: json, output: json }
    }
  }
}

const meantBy = (shape: z.ZodRawShape, given: unknown): unknown => {
  if (!isObject(given)) return given
  const meant: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (field === undefined) continue
    if (isNothing(value) && z.safeParse(field, undefined).success) continue
    meant[name] = valueFor(field, value)
  }
  return meant
}

export const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || (typeof value === "string" && value.trim() === "")

/** The longest text that can be a number. */
const longestNumber = 40

/** A value as the field has it, where another form of it says the same. Any other value is left to the schema, which names the field. */
const valueFor = (field: z.core.$ZodType, value: unknown): unknown => {
  const { def } = field._zod
  if (isWrapping(def)) return valueFor(def.innerType, value)
  switch (def.type) {
    case "number":
      return typeof value === "string" ? numberIn(value) : value
    case "string":
      return typeof value === "number" || typeof value === "boolean" ? String(value) : value
    case "boolean":
      return booleanIn(value)
    case "enum":
      return typeof value === "string" ? value.trim().toLowerCase() : value
    case "array":
      return listOf(value)
    case "record":
    case "object":
      return typeof value === "string" ? (jsonIn(value) ?? value) : value
    default:
      return value
  }
}

const isWrapping = (def: object): def is { readonly innerType: z.core.$ZodType } => "innerType" in def

export const numberIn = (text: string): unknown =>
  text.length <= longestNumber && /^\s*[+-]?\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : text

export const booleanIn = (value: unknown): unknown => {
  const word = typeof value === "string" && value.length <= longestNumber ? value.trim().toLowerCase() : value
  if (word === "true" || word === "1" || word === 1) return true
  return word === "false" || word === "0" || word === 0 ? false : value
}

export const listOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value
  const read = typeof value === "string" ? jsonIn(value) : undefined
  return Array.isArray(read) ? read : [value]
}

/** The object or the list that a text has as JSON; undefined for any other text. */
export const jsonIn = (text: string): object | undefined => {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    const read: unknown = JSON.parse(text)
    return typeof read === "object" && read !== null ? read : undefined
  } catch {
    return undefined
  }
}

export const isObject = (given: unknown): given is Readonly<Record<string, unknown>> =>
  typeof given === "object" && given !== null && !Array.isArray(given)
