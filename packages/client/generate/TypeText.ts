import { document, type JsonSchema, openLists } from "./Document.js"
import { comment } from "./Words.js"

const prefix = "#/components/schemas/"

export const nameOfRef = (ref: string): string => ref.slice(prefix.length)

/** The schema itself, or the component that it names. */
export const resolved = (schema: JsonSchema): JsonSchema =>
  schema.$ref === undefined ? schema : resolved(document.components.schemas[nameOfRef(schema.$ref)] ?? {})

/** The names of the components that a value needs, with those that they need. */
const namesIn = (value: unknown, found: Set<string>): Set<string> => {
  if (typeof value !== "object" || value === null) return found
  for (const [key, inner] of Object.entries(value)) {
    if (key !== "$ref" || typeof inner !== "string") namesIn(inner, found)
    else if (!found.has(nameOfRef(inner))) {
      found.add(nameOfRef(inner))
      namesIn(document.components.schemas[nameOfRef(inner)], found)
    }
  }
  return found
}

/** The components that callers write themselves. */
const asked = namesIn(
  Object.values(document.paths).flatMap((methods) => Object.values(methods).map(({ requestBody }) => requestBody)),
  new Set()
)

/** Components by what they are: an answer with another status than 200 is written out in the document. */
const shapeOf = ({ description: _, ...schema }: JsonSchema): string => JSON.stringify(schema)
const shapes = new Map(Object.entries(document.components.schemas).map(([name, schema]) => [shapeOf(schema), name]))

/** The schema by its name, where a component is the same. */
export const named = (schema: JsonSchema): JsonSchema => {
  const name = schema.properties === undefined ? undefined : shapes.get(shapeOf(schema))
  return name === undefined ? schema : { $ref: `${prefix}${name}` }
}

/** Ids are plain text for callers to write; what the server answers tells the kind of each. */
export type Direction = "asked" | "answered"

/** The TypeScript type of a schema, by name where it has one. */
export const typeOf = (schema: JsonSchema, direction: Direction, indent = ""): string => {
  const inner = (each: JsonSchema) => typeOf(each, direction, indent)
  if (schema.$ref !== undefined) return nameOfRef(schema.$ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return literals(schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return [...new Set(choices.map(inner))].join(" | ")
  if (schema.allOf !== undefined) {
    const { allOf, ...own } = schema
    return [...allOf, ...(own.properties === undefined ? [] : [own])].map((each) => bracketed(inner(each))).join(" & ")
  }
  if (Array.isArray(schema.type)) return schema.type.map((type) => inner({ ...schema, type })).join(" | ")
  switch (schema.type) {
    case "string":
      return direction === "answered" ? idOf(schema.pattern) : "string"
    case "integer":
    case "number":
      return "number"
    case "boolean":
    case "null":
      return schema.type
    case "array":
      return `ReadonlyArray<${schema.items === undefined ? "unknown" : inner(schema.items)}>`
    case "object":
      return objectOf(schema, direction, indent)
    default:
      return "unknown"
  }
}

/** The form of an id, as in `sess_${string}`. */
const idOf = (pattern: string | undefined): string => {
  const start = /^\^([a-z]+_)\[0-7\]/.exec(pattern ?? "")?.[1]
  return start === undefined ? "string" : `\`${start}\${string}\``
}

const literals = (values: ReadonlyArray<unknown>): string => {
  const open = openLists.some((list) => JSON.stringify(list) === JSON.stringify(values))
  return [...values.map((value) => JSON.stringify(value)), ...(open ? ["(string & {})"] : [])].join(" | ")
}

const bracketed = (type: string): string => (type.includes(" | ") ? `(${type})` : type)

const objectOf = (schema: JsonSchema, direction: Direction, indent: string): string => {
  const fields = fieldsText(schema, direction, indent)
  if (fields !== "") return `{\n${fields}${indent}}`
  const values = schema.additionalProperties
  return `Readonly<Record<string, ${typeof values === "object" ? typeOf(values, direction, indent) : "unknown"}>>`
}

/** The fields of an object, each with its comment. */
const fieldsText = (schema: JsonSchema, direction: Direction, indent: string): string =>
  Object.entries(schema.properties ?? {})
    .map(([name, field]) =>
      fieldText({ name, schema: field, required: schema.required?.includes(name) ?? false }, direction, indent)
    )
    .join("")

export interface Field {
  readonly name: string
  readonly schema: JsonSchema
  readonly required: boolean
  readonly description?: string | undefined
}

export const fieldText = (
  { description, name, required, schema }: Field,
  direction: Direction,
  indent = ""
): string => {
  const deeper = `${indent}  `
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
  const type = typeOf(schema, direction, deeper)
  const tags = [
    ...(schema.deprecated === true ? ["@deprecated"] : []),
    ...(schema.default === undefined ? [] : [`@default ${JSON.stringify(schema.default)}`])
  ]
  const says = comment([description ?? schema.description, tags.join("\n")], deeper)
  // A caller may pass on what may be undefined; an answer leaves out what it has not.
  const absent = direction === "asked" ? " | undefined" : ""
  return `${says}${deeper}readonly ${key}${required ? `: ${type}` : `?: ${type}${absent}`}\n`
}

/** Every component as an exported type of its name. */
export const componentsText = (): string =>
  Object.entries(document.components.schemas)
    .map(([name, schema]) => {
      const direction: Direction = asked.has(name) ? "asked" : "answered"
      const says = comment([schema.description])
      const { allOf = [], ...own } = schema
      const isInterface = own.properties !== undefined && allOf.every(({ $ref }) => $ref !== undefined)
      const bases = allOf.map((base) => typeOf(base, direction)).join(", ")
      return isInterface
        ? `${says}export interface ${name} ${bases === "" ? "" : `extends ${bases} `}${typeOf(own, direction)}\n`
        : `${says}export type ${name} = ${typeOf(schema, direction)}\n`
    })
    .join("\n")
