import { readFileSync } from "node:fs"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { Ajv } from "ajv"

// Owns what the recordings say of the answers of forges: their schemas, and the fields that a published answer has.

type Json = Readonly<Record<string, unknown>>

/** The recording of an answer with one status. */
export interface Recording {
  readonly schema?: Json
  readonly answer?: unknown
  /** True for an answer that somebody has published. */
  readonly published?: boolean
  /** The fields that the published answer lacks, and the schema has. */
  readonly added?: ReadonlyArray<string>
  readonly headers?: ReadonlyArray<string>
}

interface Answers {
  readonly operations: Readonly<Record<string, Readonly<Record<string, Recording>>>>
  readonly schemas?: Json
}

interface Hooks {
  readonly bodies: Readonly<Record<string, { readonly event: string; readonly body: Json }>>
}

const read = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../recordings/${path}.json`, import.meta.url), "utf8"))

export const answersOf = (forge: KnownForge): Answers => read(`${forge}/answers`)
export const hooksOf = (forge: KnownForge): Hooks => read(`${forge}/hooks`)

/** A thing that no recording has. It is about a field of an answer, or about a behaviour. */
export interface Assumed {
  readonly forge: KnownForge
  readonly operation: string
  readonly field?: string
  readonly behaviour?: string
  readonly reason: string
}

export const assumed: ReadonlyArray<Assumed> = read("assumed").assumed

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** A published answer as it was published, without the fields that the schema has added. */
export const publishedOf = ({ added = [], answer }: Recording): unknown => {
  const without = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((each) => without(each, `${path}/*`))
    if (!isObject(value)) return value
    const kept = Object.entries(value).filter(([name]) => !added.includes(`${path}/${name}`))
    return Object.fromEntries(kept.map(([name, each]) => [name, without(each, `${path}/${name}`)]))
  }
  return without(answer, "")
}

/** The fields of an answer that neither its schema nor the published answer has. */
const unknownIn = (
  schemas: Json,
  given: unknown,
  answer: unknown,
  example: unknown,
  path = ""
): ReadonlyArray<string> => {
  const schemasOf = (schema: unknown): ReadonlyArray<Json> => {
    if (!isObject(schema)) return []
    const { $ref, allOf = [], anyOf = [], oneOf = [] } = schema
    const named = typeof $ref === "string" ? schemasOf(schemas[$ref.slice("#/schemas/".length)]) : []
    return [schema, ...named, ...[allOf, anyOf, oneOf].flat().flatMap(schemasOf)]
  }
  const all = schemasOf(given)
  const [firstExample] = Array.isArray(example) ? example : []
  if (Array.isArray(answer))
    return answer.flatMap((each) => {
      const items = { anyOf: all.flatMap((schema) => (isObject(schema["items"]) ? [schema["items"]] : [])) }
      return unknownIn(schemas, items, each, firstExample, `${path}/*`)
    })
  if (!isObject(answer)) return []
  const named = (name: string) =>
    all.flatMap(({ properties }) => (isObject(properties) && name in properties ? [properties[name]] : []))
  const isOpen = all.some((schema) => "additionalProperties" in schema && schema["additionalProperties"] !== false)
  return Object.entries(answer).flatMap(([name, value]) => {
    const published = isObject(example) ? example[name] : undefined
    const found = named(name)
    const isKnown = found.length > 0 || isOpen || (isObject(example) && name in example)
    return isKnown
      ? unknownIn(schemas, { anyOf: found }, value, published, `${path}/${name}`)
      : [`${path}/${name} unknown`]
  })
}

const kindOf = (value: unknown): string => (Array.isArray(value) ? "array" : value === null ? "null" : typeof value)

/** The fields that an answer lacks or has in another type than a published one. Null fits each type, as nobody says which field may be null. */
const misshapen = (answer: unknown, example: unknown, path = ""): ReadonlyArray<string> => {
  if (kindOf(answer) !== kindOf(example))
    return answer === null || example === null ? [] : [`${path} is ${kindOf(answer)}`]
  if (Array.isArray(answer) && Array.isArray(example))
    return answer.flatMap((each) => (example.length === 0 ? [] : misshapen(each, example[0], `${path}/*`)))
  if (!isObject(answer) || !isObject(example)) return []
  return Object.entries(example).flatMap(([name, value]) =>
    name in answer ? misshapen(answer[name], value, `${path}/${name}`) : [`${path}/${name} absent`]
  )
}

/** The fields of schemas that an answer lacks, for a document that says of no field that it is required. */
const absentIn = (schemas: Json, given: unknown, answer: unknown, path = ""): ReadonlyArray<string> => {
  const schema = isObject(given) ? given : {}
  const { $ref, anyOf } = schema
  if (typeof $ref === "string") return absentIn(schemas, schemas[$ref.slice("#/schemas/".length)], answer, path)
  if (Array.isArray(anyOf)) return absentIn(schemas, anyOf[0], answer, path)
  if (Array.isArray(answer)) return answer.flatMap((each) => absentIn(schemas, schema["items"], each, `${path}/*`))
  if (!isObject(answer) || !isObject(schema["properties"])) return []
  return Object.entries(schema["properties"]).flatMap(([name, property]) =>
    name in answer ? absentIn(schemas, property, answer[name], `${path}/${name}`) : [`${path}/${name} absent`]
  )
}

/** The differences between an answer of the forge of the tests and what is recorded of the real one. */
export const judgeOf = (forge: KnownForge) => {
  const { operations, schemas = {} } = answersOf(forge)
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false, logger: false })
  ajv.addFormat("date-time", (text: string) => !Number.isNaN(Date.parse(text)))
  ajv.addFormat("uri", (text: string) => URL.canParse(text))
  ajv.addSchema({ $id: forge, schemas, operations })
  const misfits = (path: ReadonlyArray<string>, answer: unknown): ReadonlyArray<string> => {
    const pointer = path.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")
    if (ajv.validate({ $ref: `${forge}#/${pointer}` }, answer)) return []
    const errors = ajv.errors ?? []
    // A choice that fails says so of each of its parts, and once more of itself.
    const telling = errors.filter(
      ({ keyword, message }) => !/^(?:any|one)Of$/.test(keyword) && message !== "must be null"
    )
    return (telling.length > 0 ? telling : errors).map(({ instancePath, keyword, message, params }) => {
      const place = instancePath.replaceAll(/\/\d+(?=\/|$)/g, "/*")
      return keyword === "required" ? `${place}/${params["missingProperty"]} absent` : `${place} ${message}`
    })
  }
  return (operation: string, status: number, answer: unknown): ReadonlyArray<string> => {
    const recording = operations[operation]?.[status]
    if (recording === undefined) return ["no recording"]
    if (recording.schema === undefined)
      return recording.answer === undefined
        ? answer === undefined
          ? []
          : ["no recorded body"]
        : [...misshapen(answer, recording.answer), ...unknownIn({}, undefined, answer, recording.answer)]
    return [
      ...misfits(["operations", operation, String(status), "schema"], answer),
      ...unknownIn(schemas, recording.schema, answer, recording.answer),
      ...(forge === "gitea" ? absentIn(schemas, recording.schema, answer) : [])
    ]
  }
}
