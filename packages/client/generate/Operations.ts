import { type Described, document, type JsonSchema } from "./Document.js"
import { type Field, named, nameOfRef, resolved } from "./TypeText.js"
import { pascal } from "./Words.js"

/** An operation of the document as a method of the client. */
export interface Operation {
  readonly group: string
  readonly name: string
  readonly method: string
  /** As in `/api/sessions/{session_id}`. */
  readonly path: string
  readonly described: Described
  /** The parameters of path and query. */
  readonly parameters: ReadonlyArray<Field>
  readonly body: { readonly schema: JsonSchema; readonly required: boolean; readonly example: unknown } | undefined
  /** The JSON answer of a success; undefined where there is none. */
  readonly answer: JsonSchema | undefined
  /** True when a success is answered with bytes, and not with JSON. */
  readonly bytes: boolean
  /** The codes of the errors that have to do with what it does; every operation has others as well. */
  readonly codes: ReadonlyArray<string>
  /** The items of an answer that is a list. */
  readonly item: JsonSchema | undefined
}

const json = "application/json"

const operationOf = (path: string, method: string, described: Described): Operation => {
  const [group = "", name = ""] = described.operationId.split(".")
  const body = described.requestBody?.content[json]
  const success = Object.entries(described.responses).find(([status]) => /^2\d\d$/.test(status))?.[1]
  const answer = success?.content?.[json]?.schema
  const items = answer === undefined ? undefined : resolved(answer).properties?.["items"]
  const fields = described.parameters.filter((parameter) => parameter.in === "path" || parameter.in === "query")
  return {
    group,
    name,
    method: method.toUpperCase(),
    path,
    described,
    parameters: fields.map(({ description, name, required, schema }) => ({
      name,
      required,
      description,
      schema: present(schema)
    })),
    body:
      body === undefined
        ? undefined
        : { schema: body.schema, required: described.requestBody?.required ?? false, example: body.example },
    answer: answer === undefined ? undefined : named(answer),
    bytes: success?.content?.["application/octet-stream"] !== undefined,
    codes: ["404", "409", "410"].flatMap((status) => codesOf(described, status)),
    item: method === "get" ? items?.items : undefined
  }
}

const codesOf = ({ responses }: Described, status: string): ReadonlyArray<string> => {
  const answer = responses[status]
  const written = document.components.responses[answer?.$ref?.split("/").at(-1) ?? ""] ?? answer
  const schemas = written?.content?.[json]?.schema.allOf ?? []
  const codes = schemas.flatMap(({ properties }) => properties?.["error"]?.properties?.["code"]?.enum ?? [])
  return codes.map(String).filter((code) => !code.startsWith("idempotency_"))
}

/** A parameter that is left out is not sent, so it is never null. */
const present = (schema: JsonSchema): JsonSchema => {
  const choices = schema.anyOf?.filter((choice) => choice.type !== "null")
  return choices?.length === 1 && choices[0] !== undefined ? choices[0] : schema
}

export const operations: ReadonlyArray<Operation> = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => operationOf(path, method, described))
)

for (const { body, group, method, name, parameters, path } of operations) {
  const fields = body === undefined ? [] : Object.keys(resolved(body.schema).properties ?? {})
  const twice = parameters.filter((parameter) => fields.includes(parameter.name))
  // A method takes one flat object, which is sorted into path, query and body without a list of names.
  if (twice.length > 0) throw new Error(`${group}.${name} has the same name twice: ${twice.map((each) => each.name)}`)
  if (body !== undefined && parameters.some((parameter) => !path.includes(`{${parameter.name}}`))) {
    throw new Error(`${method} ${path} takes a body and a query, which the client cannot tell apart`)
  }
}

export const groups: ReadonlyArray<string> = [...new Set(operations.map(({ group }) => group))]

/** The sentence that the document has for a group. */
export const aboutGroup = (group: string): string | undefined =>
  document.tags.find(({ name }) => name === group)?.description

/** The name of the type of a method's argument. */
export const inputName = ({ group, name }: Operation): string => `${pascal(group)}${pascal(name)}Input`

/** The name of the type of an answer that has no name of its own. */
export const answerName = ({ group, name }: Operation): string => `${pascal(group)}${pascal(name)}Answer`

export const bodyName = ({ body }: Operation): string | undefined =>
  body?.schema.$ref === undefined ? undefined : nameOfRef(body.schema.$ref)
