import { Schema } from "effect"
import { builtInDocument } from "./BuiltIn.js"

const Json = Schema.Record({ key: Schema.String, value: Schema.Unknown })
export type Json = typeof Json.Type

const Content = Schema.Record({ key: Schema.String, value: Schema.Struct({ schema: Json }) })

export const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.Literal("path", "query", "header"),
  required: Schema.Boolean,
  schema: Json
})
export type Parameter = typeof Parameter.Type

const Described = Schema.Struct({
  operationId: Schema.String,
  summary: Schema.String,
  tags: Schema.Array(Schema.String),
  parameters: Schema.Array(Parameter),
  requestBody: Schema.optional(Schema.Struct({ required: Schema.Boolean, content: Content })),
  responses: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({ description: Schema.String, content: Schema.optional(Content) })
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

export const decodeDocument = Schema.decodeUnknownSync(Document)

/** One operation of the document, by its method and path. */
export interface Operation extends Schema.Schema.Type<typeof Described> {
  readonly name: string
  readonly method: string
  readonly path: string
}

export const operationsOf = (document: Document): ReadonlyArray<Operation> =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      ...described,
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path
    }))
  )

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
