import { HttpApi, type HttpApiEndpoint, type HttpApiGroup, HttpMethod, OpenApi } from "@effect/platform"
import { NotReplayed, RequiredScope, SecretAnswer } from "@reins/base/domain/Endpoint"
import { type ErrorCode, ErrorEnvelope } from "@reins/base/domain/ReinsError"
import { mediaTypes } from "@reins/core/artifacts/MediaTypes"
import type { InstalledNames } from "@reins/core/catalog/Installed"
import { operationErrors } from "@reins/core/OperationErrors"
import { Context, Option, Schema, SchemaAST } from "effect"
import { HTTPValidationError } from "../validation/Validation.js"
import { withCredentials } from "./CredentialSchemas.js"
import { described } from "./Descriptions.js"
import { eventSchemas, withEventUnion } from "./EventSchemas.js"
import recorded from "./examples.json" with { type: "json" }
import { fieldsOf, type Json, mapFields, refersTo, unwrapped } from "./Json.js"
import * as Texts from "./OpenApiTexts.js"
import { plain } from "./Plain.js"
import {
  type Answering,
  errorExamples,
  errorResponses,
  responseHeaders,
  sharedResponses,
  successHeaders
} from "./Responses.js"

/**
 * The OpenAPI 3.1 description of an API as an installation serves it. It adds to the schemas the names that the installation has, the answers
 * that every operation shares, the callers of each, and the headers of mutations by the names that people write.
 */
export const documentOf = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>,
  installed: InstalledNames,
  /** The path below which the service is reached, as `/reins`. */
  path = "/",
  /** The name of the login cookie of this installation. */
  cookie = "__Host-reins_session_0a1b2c3d"
): Json => {
  const operations = new Map<string, Operation>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group }) => {
      operations.set(`${endpoint.method} ${patternOf(endpoint)}`, {
        endpoint,
        name: `${group.identifier}.${endpoint.name}`
      })
    }
  })
  const additional = [HTTPValidationError, ErrorEnvelope, ...eventSchemas]
  const whole = api.annotate(HttpApi.AdditionalSchemas, additional)
  const spec = plain(OpenApi.fromApi(whole, { additionalPropertiesStrategy: "allow" }), installed)
  const schemas = [...additional, ...[...operations.values()].flatMap(({ endpoint }) => schemasOf(endpoint))]
  const components = fieldsOf(spec["components"])
  const answerings = [...operations.values()].map(answeringOf)
  return {
    ...spec,
    info: { ...fieldsOf(spec["info"]), ...Texts.info },
    servers: [{ url: path, description: "The service that gave this document" }],
    tags: tagsOf(spec["tags"]),
    paths: mapFields(fieldsOf(spec["paths"]), (path, methods) =>
      mapFields(fieldsOf(methods), (method, operation) => {
        const known = operations.get(`${method.toUpperCase()} ${path}`)
        return known === undefined ? operation : completed(fieldsOf(operation), known)
      })
    ),
    components: {
      schemas: componentsOf(fieldsOf(components["schemas"]), schemas, installed),
      responses: sharedResponses(answerings),
      examples: errorExamples(answerings),
      headers: responseHeaders,
      securitySchemes: securitySchemes(cookie)
    }
  }
}

type Endpoint = HttpApiEndpoint.HttpApiEndpoint<string, HttpMethod.HttpMethod>

interface Operation {
  readonly endpoint: Endpoint
  /** As `group.endpoint`. */
  readonly name: string
}

const schemasOf = ({ payloadSchema, successSchema }: Endpoint): ReadonlyArray<Schema.Schema.All> => [
  successSchema,
  ...Option.toArray(payloadSchema)
]

const componentsOf = (components: Json, schemas: ReadonlyArray<Schema.Schema.All>, installed: InstalledNames): Json => {
  const own = Object.fromEntries(Object.entries(components).filter(([name]) => !ofThePlatform.has(name)))
  return plain(withCredentials(withEventUnion(described(own, schemas)), installed), installed)
}

/** Components for answers that the service never gives, and a component that is written out where it is used. */
const ofThePlatform: ReadonlySet<string> = new Set(["HttpApiDecodeError", "Issue", "PropertyKey", "Int"])

const securitySchemes = (name: string) => ({
  bearer: { type: "http", scheme: "bearer", description: "An API key: `Authorization: Bearer rk_...`" },
  cookie: {
    type: "apiKey",
    in: "cookie",
    name,
    description:
      "The login cookie. Its last 8 characters tell the installations of a host apart. It begins with `__Secure-` below a path, and with `reins_session_` where the service is not reached over https. Changes need X-CSRF-Token too."
  }
})

/** The tags in alphabetical order, each with its description. */
const tagsOf = (tags: unknown): ReadonlyArray<Json> =>
  (Array.isArray(tags) ? tags : [])
    .map((tag) => String(fieldsOf(tag)["name"]))
    .sort()
    .map((name) => ({ name, ...(name in Texts.tags && { description: Texts.tags[name] }) }))

const completed = (operation: Json, known: Operation): Json => {
  const { endpoint } = known
  const answering = answeringOf(known)
  const { isReplayed, mutates, scope } = answering
  const isPublic = scope === "public"
  const { 400: _, ...responses } = fieldsOf(operation["responses"])
  const streams = endpoint.path.endsWith("/events")
  const exports = known.name === "sessions.getExport"
  const bytes = known.name === "artifacts.getContent"
  const body = fieldsOf(operation["requestBody"])
  const parameters = Array.isArray(operation["parameters"]) ? operation["parameters"].map(fieldsOf) : []
  const example = examples[`${endpoint.method} ${patternOf(endpoint)}`]
  const answer = (response: unknown) => withExample(fieldsOf(response), example?.answer)
  const summary = String(operation["summary"] ?? operation["operationId"])
  return {
    ...operation,
    description: Texts.descriptionOf({
      summary,
      scope,
      mutates,
      isReplayed,
      holdsSecret: Option.isSome(Context.getOption(endpoint.annotations, SecretAnswer))
    }),
    parameters: [
      ...parameters.map((parameter) => parameterOf(parameter, defaultsOf(endpoint))),
      ...(mutates && !isPublic ? [csrfParameter] : []),
      ...(streams ? [lastEventIdParameter] : [])
    ],
    ...("requestBody" in operation && {
      requestBody: {
        description: Texts.bodyDescription,
        ...withExample(body, example?.body),
        required: !mayBeAbsent(endpoint)
      }
    }),
    security: isPublic ? [] : [{ bearer: [] }, { cookie: [] }],
    responses: {
      ...mapFields(responses, (_, response) => ({
        ...(streams
          ? withStream(answer(response))
          : exports
            ? withMarkdown(answer(response))
            : bytes
              ? withMediaTypes(answer(response))
              : answer(response)),
        description: Texts.answerDescription(summary, endpoint.successSchema.ast),
        headers: successHeaders(answering)
      })),
      ...errorResponses(answering)
    }
  }
}

const answeringOf = ({ endpoint, name }: Operation): Answering => {
  const fields = SchemaAST.getPropertySignatures(SchemaAST.encodedAST(endpoint.successSchema.ast)).map(
    (each) => each.name
  )
  const codes: Readonly<Record<string, ReadonlyArray<ErrorCode> | undefined>> = operationErrors
  return {
    scope: Option.getOrElse(Context.getOption(endpoint.annotations, RequiredScope), () => "read" as const),
    mutates: HttpMethod.hasBody(endpoint.method) || endpoint.method === "DELETE",
    isReplayed: Option.isNone(Context.getOption(endpoint.annotations, NotReplayed)),
    isVersioned: fields.includes("version"),
    isPage: fields.includes("next_cursor"),
    setsCookies: name === "accounts.login" || name === "accounts.logout",
    codes: codes[name] ?? []
  }
}

/** An optional parameter without a default may be null, as in FastAPI's documents. */
const parameterOf = (parameter: Json, defaults: Json): Json => {
  const name = String(parameter["name"])
  const { description: own, ...written } = fieldsOf(parameter["schema"])
  const schema = unwrapped(written)
  if (parameter["in"] === "header" && name === "idempotency-key") {
    return {
      ...parameter,
      name: "Idempotency-Key",
      schema,
      description:
        "Names this change: sent again with the same key, it happens once and is answered the same for 72 hours."
    }
  }
  const description = own ?? Texts.parameters[name]
  const described = { ...parameter, schema, ...(description !== undefined && { description }) }
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

/** The path as the document writes it. */
const patternOf = ({ path }: Endpoint): string => path.replace(/:(\w+)/g, "{$1}")

/** Requests and answers of the end-to-end story and the tests of the contract, recorded by `node scripts/examples.mjs`. */
const examples: Readonly<Record<string, { readonly body?: unknown; readonly answer?: unknown } | undefined>> = recorded

const withExample = (described: Json, example: unknown): Json => {
  const content = fieldsOf(described["content"])
  if (example === undefined || !("application/json" in content)) return described
  return {
    ...described,
    content: { ...content, "application/json": { ...fieldsOf(content["application/json"]), example } }
  }
}

const withStream = (response: Json): Json => ({
  ...response,
  content: {
    ...fieldsOf(response["content"]),
    "text/event-stream": {
      schema: {
        type: "string",
        description: Texts.streamDescription,
        contentMediaType: "text/event-stream",
        // The data of each frame.
        contentSchema: { anyOf: [refersTo("Event"), refersTo("MessageDelta"), refersTo("StreamEnd")] }
      },
      examples: { stream: { summary: "Two events, and the end.", value: Texts.streamExample } }
    }
  }
})

/** The content of an artifact has the media type of its bytes. */
const withMediaTypes = (response: Json): Json => {
  const [content] = Object.values(fieldsOf(response["content"]))
  return { ...response, content: Object.fromEntries(mediaTypes.map((type) => [type, content])) }
}

const withMarkdown = (response: Json): Json => ({
  ...response,
  content: {
    ...fieldsOf(response["content"]),
    "text/markdown": { schema: { type: "string", description: Texts.markdownDescription } }
  }
})

/** The values of the query of an endpoint when no parameter is given. */
const defaultsOf = ({ urlParamsSchema }: Endpoint): Json =>
  Option.match(urlParamsSchema, {
    onNone: () => ({}),
    onSome: (schema) => fieldsOf(Option.getOrElse(Schema.decodeUnknownOption(schema)({}), () => ({})))
  })

const mayBeAbsent = ({ payloadSchema }: Endpoint): boolean =>
  Option.exists(payloadSchema, (schema) => Option.isSome(Schema.decodeUnknownOption(schema)({})))
