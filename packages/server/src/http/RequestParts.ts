import type { HttpApiEndpoint, HttpMethod } from "@effect/platform"
import { digestedJson } from "@reins/base/base/CanonicalJson"
import { inItsTurn } from "@reins/base/base/EventLoop"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import type { InstalledNames } from "@reins/core/catalog/Installed"
import { Effect, Either, Option, ParseResult, Schema, SchemaAST } from "effect"
import { announcesBody, refusalOfType } from "./BodyType.js"
import type { Exchange } from "./Exchange.js"
import { parseJson } from "./JsonBody.js"
import { readBody, type TooLarge } from "./middleware/BodyLimit.js"
import { ValidationFailed } from "./middleware/ErrorEnvelope.js"
import { queryReader } from "./QueryParts.js"
import type { PathParams } from "./Route.js"
import { tellUnknown, unknownFieldsOf } from "./UnknownFields.js"
import { withBoundedIssues } from "./validation/BoundedIssues.js"
import { withInstalledNames } from "./validation/InstalledNames.js"
import { maxErrors, missing, toDetails, type ValidationError, valueError } from "./validation/Validation.js"

/** The decoded parts of a request. A part that the endpoint does not have is undefined. */
export interface Parts {
  readonly path: unknown
  readonly query: unknown
  readonly body: unknown
  /** The body as it was sent, with fields that its schema does not know, as canonical JSON. */
  readonly canonicalBody: string
}

/** An endpoint of any types, which only its schemas know. */
export type Endpoint = HttpApiEndpoint.HttpApiEndpoint<string, HttpMethod.HttpMethod>

export type DecodeParts = (
  exchange: Exchange,
  pathParams: PathParams
) => Effect.Effect<Parts, ValidationFailed | BodyRefusal | ReinsError<"not_found">>

type BodyRefusal = TooLarge | ReinsError<"unsupported_media_type">

type Decoded = Either.Either<unknown, ReadonlyArray<ValidationError>>

/** Prepares the decoders of an endpoint once. A request fails with all errors of its path, query, headers and body together. */
export const decoderOf = (endpoint: Endpoint, maxBodyBytes: number, installed: InstalledNames): DecodeParts => {
  const { lists } = installed
  const payloadSchema = Option.map(endpoint.payloadSchema, (schema) => withInstalledNames(schema, lists))
  const decodePath = partDecoder("path", endpoint.pathSchema)
  const decodeQuery = queryDecoder(endpoint.urlParamsSchema)
  const decodeHeaders = headerDecoder(endpoint.headersSchema)
  const decodeBody = bodyDecoder(payloadSchema, maxBodyBytes, installed)
  const isConditional = Option.exists(payloadSchema, takesVersion)
  return Effect.fnUntraced(function* (exchange, pathParams) {
    // No id holds this character, and no text of PostgreSQL can.
    if (Object.values(pathParams).some((value) => value?.includes("\0"))) return yield* notFound()
    const path = decodePath(pathParams)
    const query = decodeQuery(exchange)
    const headers = decodeHeaders(exchange.request.headers)
    const condition = isConditional ? nothing : unconditional(exchange)
    const body = yield* decodeBody(exchange)
    const detail = [path, query, headers, condition, body.decoded].flatMap((part) =>
      Either.isLeft(part) ? part.left : []
    )
    if (detail.length > 0) return yield* new ValidationFailed({ detail })
    return { path: valueOf(path), query: valueOf(query), body: valueOf(body.decoded), canonicalBody: body.canonical }
  })
}

/**
 * Fails for a text that one of the databases would not keep unchanged. Every installation then accepts the same requests and gives back each
 * text as it was sent.
 */
const storable = (
  decoded: Either.Either<unknown, ParseResult.ParseIssue>
): Either.Either<unknown, ParseResult.ParseIssue> =>
  Either.flatMap(decoded, (value) => {
    const issue = findUnstorable(value)
    return issue === undefined ? Either.right(value) : Either.left(issue)
  })

const findUnstorable = (value: unknown): ParseResult.ParseIssue | undefined => {
  if (typeof value === "string") {
    const words = value.includes("\0")
      ? "Text cannot hold the character U+0000"
      : halfCharacter.test(value)
        ? "Text cannot hold half of a surrogate pair"
        : undefined
    return words === undefined ? undefined : new ParseResult.Type(Schema.String.ast, value, words)
  }
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const issue = findUnstorable(inner) ?? findUnstorable(key)
    if (issue !== undefined) return new ParseResult.Pointer(Array.isArray(value) ? Number(key) : key, value, issue)
  }
  return undefined
}

const halfCharacter = /\p{Surrogate}/u

const valueOf = (part: Decoded): unknown => Either.getOrUndefined(part)

const nothing: Decoded = Either.right(undefined)

const decodeWith = (schema: Schema.Schema<never, unknown>) =>
  ParseResult.decodeUnknownEither(withBoundedIssues(schema, maxErrors), { errors: "all" })

const partDecoder = (loc: string, schema: Option.Option<Schema.Schema<never, unknown>>) => {
  if (Option.isNone(schema)) return () => nothing
  const decode = decodeWith(schema.value)
  return (input: unknown): Decoded => Either.mapLeft(storable(decode(input)), (issue) => toDetails([loc], issue, input))
}

const queryDecoder = (schema: Option.Option<Schema.Schema<never, unknown>>) => {
  const decode = partDecoder("query", schema)
  const read = queryReader(Option.getOrUndefined(schema))
  return (exchange: Exchange): Decoded => {
    const { faults, given, unknown } = read(exchange.query)
    tellUnknown(exchange, unknown)
    const decoded = decode(given)
    if (faults.length === 0) return decoded
    const found = Either.isLeft(decoded) ? decoded.left : []
    // A value that is wrong by itself has its fault already.
    const others = faults.filter((fault) => found.every(({ loc }) => loc[1] !== fault.loc[1]))
    return Either.left([...found, ...others].slice(0, maxErrors))
  }
}

/** The spelling of a header in errors, which is the one that people use. */
const headerDecoder = (schema: Option.Option<Schema.Schema<never, unknown>>) => {
  const decode = partDecoder("header", schema)
  return (input: unknown): Decoded =>
    Either.mapLeft(decode(input), (detail) =>
      detail.map((error) => ({
        ...error,
        loc: error.loc.map((key) => (typeof key === "string" && key !== "header" ? titled(key) : key))
      }))
    )
}

const titled = (name: string): string => name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())

interface Body {
  readonly decoded: Decoded
  readonly canonical: string
}

const noBody: Body = { decoded: nothing, canonical: "null" }

const bodyDecoder = (
  schema: Option.Option<Schema.Schema<never, unknown>>,
  maxBytes: number,
  installed: InstalledNames
) => {
  if (Option.isNone(schema))
    return (exchange: Exchange): Effect.Effect<Body> => {
      if (announcesBody(exchange)) tellUnknown(exchange, ["body"])
      return Effect.succeed(noBody)
    }
  const decode = decodeWith(schema.value)
  const mayBeAbsent = Either.isRight(decode({}))
  const isConditional = takesVersion(schema.value)
  const unknownIn = unknownFieldsOf(schema.value, installed)
  const read = (exchange: Exchange, bytes: Buffer) => {
    const parsed = bytes.length === 0 ? Either.right(null) : parseJson(bytes)
    if (Either.isLeft(parsed)) return { decoded: Either.left([parsed.left]), sent: undefined }
    const given = parsed.right ?? (mayBeAbsent ? {} : null)
    const conditional = isConditional ? withExpectedVersion(exchange, given) : Either.right(given)
    if (Either.isLeft(conditional)) return { decoded: Either.left([conditional.left]), sent: undefined }
    const sent = conditional.right
    tellUnknown(exchange, unknownIn(sent, "body"))
    const decoded: Decoded =
      sent === null
        ? Either.left([missing(["body"], null)])
        : Either.mapLeft(storable(decode(sent)), (issue) => toDetails(["body"], issue, sent))
    return { decoded, sent: Either.isRight(decoded) ? sent : undefined }
  }
  // Each step drops the value before it, so that the bytes are not kept beside the values that are made of them.
  return (exchange: Exchange): Effect.Effect<Body, BodyRefusal> =>
    Effect.interruptible(readBody(exchange, maxBytes)).pipe(
      Effect.flatMap(
        (bytes) =>
          (bytes.length === 0 ? undefined : refusalOfType(exchange)) ??
          inItsTurn(bytes.length, () => ({ size: bytes.length, ...read(exchange, bytes) }))
      ),
      Effect.flatMap(({ decoded, sent, size }) =>
        inItsTurn(size, () => ({ decoded, canonical: digestedJson(sent ?? null, longText) }))
      )
    )
}

/** Longer texts, such as the file of an upload, are in the canonical body by their digest, so that no second copy of them is held. */
const longText = 64 * 1024

/** `If-Match: "3"` says the same as `expected_version: 3` in the body, and `*` is any version. Of two that differ neither is taken. */
const withExpectedVersion = (exchange: Exchange, body: unknown): Either.Either<unknown, ValidationError> => {
  const given = exchange.header("if-match")?.trim()
  if (given === undefined || given === "*" || typeof body !== "object" || body === null || Array.isArray(body))
    return Either.right(body)
  const version = /^(?:W\/)?"(\d{1,15})"$/.exec(given)?.[1]
  if (version === undefined) return Either.left(notAVersion(given))
  const expected = "expected_version" in body ? (body.expected_version ?? undefined) : undefined
  if (expected === undefined) return Either.right({ ...body, expected_version: Number(version) })
  // A value of another type has its own fault.
  return typeof expected !== "number" || expected === Number(version)
    ? Either.right(body)
    : Either.left(
        conditionError(given, `this is not the expected_version of the body, which is ${expected}: send one of them`)
      )
}

/** Refuses a condition on an operation that cannot have one. To ignore it would let the write happen against the caller's condition. */
const unconditional = (exchange: Exchange): Decoded => {
  const given = exchange.header("if-match")?.trim()
  return given === undefined || given === "*" || exchange.method === "GET" || exchange.method === "HEAD"
    ? nothing
    : Either.left([
        conditionError(given, "this operation cannot be made conditional: read the resource and leave it out")
      ])
}

const notAVersion = (given: string): ValidationError =>
  conditionError(given, 'this has to be one version in double quotes, as in "3", or *')

const conditionError = (given: string, reason: string): ValidationError =>
  valueError(["header", "If-Match"], reason, given)

const takesVersion = (schema: Schema.Schema<never, unknown>): boolean =>
  SchemaAST.getPropertySignatures(SchemaAST.encodedAST(schema.ast)).some(({ name }) => name === "expected_version")
