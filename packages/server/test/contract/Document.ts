import { Schema } from "effect"
import { builtInDocument } from "./BuiltIn.js"

const Json = Schema.Record({ key: Schema.String, value: Schema.Unknown })
export type Json = typeof Json.Type

const Content = Schema.Record({
  key: Schema.String,
  value: Schema.Struct({ schema: Json, example: Schema.optional(Schema.Unknown), examples: Schema.optional(Json) })
})

export const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.Literal("path", "query", "header"),
  required: Schema.Boolean,
  description: Schema.optional(Schema.String),
  schema: Json
})
export type Parameter = typeof Parameter.Type

const Described = Schema.Struct({
  operationId: Schema.String,
  summary: Schema.String,
  tags: Schema.Array(Schema.String),
  parameters: Schema.Array(Parameter),
  requestBody: Schema.optional(
    Schema.Struct({ required: Schema.Boolean, description: Schema.String, content: Content })
  ),
  responses: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({
      description: Schema.String,
      headers: Schema.optional(
        Schema.Record({ key: Schema.String, value: Schema.Struct({ description: Schema.String, schema: Json }) })
      ),
      content: Schema.optional(Content)
    })
  }),
  security: Schema.Array(Json),
  "x-reins-extension": Schema.optional(Schema.Unknown)
})

const Document = Schema.Struct({
  openapi: Schema.String,
  info: Schema.Struct({ title: Schema.String, version: Schema.String }),
  paths: Schema.Record({ key: Schema.String, value: Schema.Record({ key: Schema.String, value: Described }) }),
  components: Schema.Struct({ schemas: Schema.Record({ key: Schema.String, value: Json }), securitySchemes: Json })
})
export type Document = typeof Document.Type

/** A document with its answers, headers and examples where they are used. Schemas still refer to components. */
export const decodeDocument = (json: unknown): Document => Schema.decodeUnknownSync(Document)(resolved(json, json))

const resolved = (value: unknown, root: unknown): unknown => {
  if (Array.isArray(value)) return value.map((each) => resolved(each, root))
  if (typeof value !== "object" || value === null) return value
  const reference = "$ref" in value && typeof value.$ref === "string" ? value.$ref : ""
  const path = /^#\/components\/(responses|headers|examples)\/(.+)$/.exec(reference)
  if (path !== null) return resolved(path.slice(1).reduce(at, at(root, "components")), root)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner, root)]))
}

const at = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? new Map<string, unknown>(Object.entries(value)).get(key) : undefined

/** One operation of the document, by its method and path. */
export interface Operation extends Schema.Schema.Type<typeof Described> {
  readonly name: string
  readonly method: string
  readonly path: string
  /** The codes of errors that it lists, by their statuses. */
  readonly errorCodes: Readonly<Record<string, ReadonlyArray<string>>>
}

export const operationsOf = (document: Document): ReadonlyArray<Operation> =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      ...described,
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      errorCodes: Object.fromEntries(
        Object.entries(described.responses).flatMap(([status, { content }]) => {
          const codes = codesIn(content?.["application/json"]?.schema)
          return codes.length === 0 ? [] : [[status, codes] as const]
        })
      )
    }))
  )

const codesIn = (schema: Json | undefined): ReadonlyArray<string> => {
  const own = Array.isArray(schema?.["allOf"]) ? schema["allOf"][1] : undefined
  const codes = ["properties", "error", "properties", "code", "enum"].reduce(at, own)
  return Array.isArray(codes) ? codes : []
}

/** The document as the API value gives it; a test holds the served one to it. */
export const document = decodeDocument(JSON.parse(JSON.stringify(builtInDocument)))

export const operations = operationsOf(document)

export const mutations = operations.filter(({ method }) => method !== "GET")

/** The statuses of success that an operation declares. */
export const successes = (operation: Operation): ReadonlyArray<number> =>
  Object.keys(operation.responses)
    .map(Number)
    .filter((status) => status >= 200 && status < 300)

export const pathParameters = ({ path }: Pick<Operation, "path">): ReadonlyArray<string> =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "")

/** The path with its parameters filled in. */
export const fill = (path: string, ids: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name]
    if (id === undefined) throw new Error(`no ${name} for ${path}`)
    return id
  })
