import { HttpApi, type HttpApiEndpoint, type HttpApiGroup, HttpMethod, OpenApi } from "@effect/platform"
import { NotReplayed, RequiredScope, SecretAnswer } from "@reins/core/api/Endpoint"
import type { InstalledNames } from "@reins/core/catalog/Installed"
import { defaultKeyword, installedKeyword } from "@reins/core/domain/Installed"
import { ErrorEnvelope } from "@reins/core/domain/ReinsError"
import { Context, Option, Predicate, Schema } from "effect"
import { HTTPValidationError } from "../validation/Validation.js"
import * as Texts from "./OpenApiTexts.js"

type Json = Readonly<Record<string, unknown>>

/**
 * The OpenAPI 3.1 description of an API as an installation serves it. It adds to the schemas the names that the installation has, the answers
 * that every operation shares, the callers of each, and the headers of mutations by the names that people write.
 */
export const documentOf = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>,
  installed: InstalledNames
): Json => {
  const operations = new Map<string, Endpoint>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      operations.set(`${endpoint.method} ${endpoint.path.replace(/:(\w+)/g, "{$1}")}`, endpoint)
    }
  })
  const described = api.annotate(HttpApi.AdditionalSchemas, [HTTPValidationError, ErrorEnvelope])
  const spec = plain(OpenApi.fromApi(described, { additionalPropertiesStrategy: "allow" }), installed)
  const components = fieldsOf(spec["components"])
  return {
    ...spec,
    info: { ...fieldsOf(spec["info"]), ...Texts.info },
    servers: Texts.servers,
    tags: tagsOf(spec["tags"]),
    paths: mapFields(fieldsOf(spec["paths"]), (path, methods) =>
      mapFields(fieldsOf(methods), (method, operation) => {
        const endpoint = operations.get(`${method.toUpperCase()} ${path}`)
        return endpoint === undefined ? operation : completed(fieldsOf(operation), endpoint)
      })
    ),
    components: {
      schemas: Object.fromEntries(
        Object.entries(fieldsOf(components["schemas"])).filter(([name]) => !ofThePlatform.has(name))
      ),
      securitySchemes
    }
  }
}

type Endpoint = HttpApiEndpoint.HttpApiEndpoint<string, HttpMethod.HttpMethod>

/** Components for answers that the service never gives, and a component that is written out where it is used. */
const ofThePlatform: ReadonlySet<string> = new Set(["HttpApiDecodeError", "Issue", "PropertyKey", "Int"])

const securitySchemes = {
  bearer: { type: "http", scheme: "bearer", description: "An API key: `Authorization: Bearer rk_...`" },
  cookie: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-reins_session",
    description:
      "The login cookie; `reins_session` where the service is not reached over https. Changes need X-CSRF-Token too."
  }
}

/** The tags in alphabetical order, each with its description. */
const tagsOf = (tags: unknown): ReadonlyArray<Json> =>
  (Array.isArray(tags) ? tags : [])
    .map((tag) => String(fieldsOf(tag)["name"]))
    .sort()
    .map((name) => ({ name, ...(name in Texts.tags && { description: Texts.tags[name] }) }))

const completed = (operation: Json, endpoint: Endpoint): Json => {
  const mutates = HttpMethod.hasBody(endpoint.method) || endpoint.method === "DELETE"
  const scope = Option.getOrElse(Context.getOption(endpoint.annotations, RequiredScope), () => "read" as const)
  const isPublic = scope === "public"
  const { 400: _, ...responses } = fieldsOf(operation["responses"])
  const streams = endpoint.path.endsWith("/events")
  const body = fieldsOf(operation["requestBody"])
  const parameters = Array.isArray(operation["parameters"]) ? operation["parameters"].map(fieldsOf) : []
  return {
    ...operation,
    description: Texts.descriptionOf({
      summary: String(operation["summary"] ?? operation["operationId"]),
      scope,
      mutates,
      isReplayed: Option.isNone(Context.getOption(endpoint.annotations, NotReplayed)),
      holdsSecret: Option.isSome(Context.getOption(endpoint.annotations, SecretAnswer))
    }),
    parameters: [
      ...parameters.map((parameter) => parameterOf(parameter, defaultsOf(endpoint))),
      ...(mutates && !isPublic ? [csrfParameter] : []),
      ...(streams ? [lastEventIdParameter] : [])
    ],
    ...("requestBody" in operation && { requestBody: { ...body, required: !mayBeAbsent(endpoint) } }),
    security: isPublic ? [] : [{ bearer: [] }, { cookie: [] }],
    responses: {
      ...mapFields(responses, (_, response) => (streams ? withStream(fieldsOf(response)) : response)),
      422: jsonAnswer("The request is malformed", "HTTPValidationError"),
      default: jsonAnswer("A failure; `code` says which", "ErrorEnvelope")
    }
  }
}

/** An optional parameter without a default may be null, as in FastAPI's documents. */
const parameterOf = (parameter: Json, defaults: Json): Json => {
  const name = String(parameter["name"])
  const schema = fieldsOf(parameter["schema"])
  if (parameter["in"] === "header" && name === "idempotency-key") {
    return {
      ...parameter,
      name: "Idempotency-Key",
      schema,
      description:
        "Names this change: sent again with the same key, it happens once and is answered the same for 72 hours."
    }
  }
  const described = { ...parameter, ...(name in Texts.parameters && { description: Texts.parameters[name] }) }
  if (parameter["in"] !== "query" || parameter["required"] === true) return described
  return {
    ...described,
    schema:
      "default" in schema
        ? schema
        : name in defaults
          ? { ...schema, default: defaults[name] }
          : { anyOf: [schema, { type: "null" }] }
  }
}

const csrfParameter = {
  name: "X-CSRF-Token",
  in: "header",
  required: false,
  schema: { type: "string" },
  description: "Required with the login cookie: the csrf_token of the login. Not used with a bearer."
}

const lastEventIdParameter = {
  name: "Last-Event-ID",
  in: "header",
  required: false,
  schema: { type: "string" },
  description: "For streams: the id of the last event that was received, which wins over `after`."
}

const withStream = (response: Json): Json => ({
  ...response,
  content: {
    ...fieldsOf(response["content"]),
    "text/event-stream": {
      schema: { type: "string", description: Texts.streamDescription }
    }
  }
})

const jsonAnswer = (description: string, component: string): Json => ({
  description,
  content: { "application/json": { schema: { $ref: `#/components/schemas/${component}` } } }
})

/** The values of the query of an endpoint when no parameter is given. */
const defaultsOf = ({ urlParamsSchema }: Endpoint): Json =>
  Option.match(urlParamsSchema, {
    onNone: () => ({}),
    onSome: (schema) => fieldsOf(Option.getOrElse(Schema.decodeUnknownOption(schema)({}), () => ({})))
  })

const mayBeAbsent = ({ payloadSchema }: Endpoint): boolean =>
  Option.exists(payloadSchema, (schema) => Option.isSome(Schema.decodeUnknownOption(schema)({})))

const fieldsOf = (value: unknown): Json => (Predicate.isRecord(value) ? value : {})

const mapFields = (fields: Json, f: (name: string, value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, f(name, value)]))

/** The same JSON without texts that repeat the keywords beside them in English. */
const plain = (value: object, installed: InstalledNames): Json => fieldsOf(cleaned(value, installed))

const cleaned = (value: unknown, installed: InstalledNames): unknown => {
  if (Array.isArray(value)) return value.map((item) => cleaned(item, installed))
  if (!Predicate.isRecord(value)) return value
  if (value["$ref"] === "#/components/schemas/Int") return { type: "integer" }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => !isNoise(name, inner))
      .map(([name, inner]) => namesOf(installed, name, inner) ?? [name, cleaned(inner, installed)])
  )
}

/** The standard keyword instead of one of ours, with the names of the installation. */
const namesOf = ({ defaults, lists }: InstalledNames, keyword: string, list: unknown) => {
  const valueIn = (fields: Json) => (typeof list === "string" ? fields[list] : undefined)
  if (keyword === installedKeyword) return ["enum", valueIn(lists)] as const
  return keyword === defaultKeyword ? (["default", valueIn(defaults)] as const) : undefined
}

const isNoise = (name: string, value: unknown): boolean =>
  (name === "required" && Array.isArray(value) && value.length === 0) ||
  (name === "properties" && Predicate.isRecord(value) && Object.keys(value).length === 0) ||
  (typeof value === "string" &&
    (name === "$id" ||
      (name === "title" && /^\w+(?:\(.*\))?$/.test(value) && value !== "Reins") ||
      (name === "description" &&
        /^(?:an? (?:string|number|integer|positive|non)|a(?:n?) .* (?:long|pattern))/.test(value))))
