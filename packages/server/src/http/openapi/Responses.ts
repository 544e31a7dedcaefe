import { errorTexts } from "@reins/base/domain/ErrorTexts"
import { type ErrorCode, errorKinds } from "@reins/base/domain/ReinsError"
import { type Json, refersTo } from "./Json.js"

/** An operation, as far as it decides the answers that it may get. */
export interface Answering {
  readonly scope: "public" | "read" | "act" | "write" | "admin"
  readonly mutates: boolean
  /** True when a repeated call is answered as the first was. */
  readonly isReplayed: boolean
  /** True when it gives a resource with a version. */
  readonly isVersioned: boolean
  /** True when it gives a page of a list. */
  readonly isPage: boolean
  /** True when it sets the cookies of a login, or removes them. */
  readonly setsCookies: boolean
  /** The codes of the service behind it. */
  readonly codes: ReadonlyArray<ErrorCode>
}

/** The codes that any request may be answered with, whatever it asks for. */
const everywhere: ReadonlyArray<ErrorCode> = [
  "malformed_request",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
  "rate_limited",
  "headers_too_large",
  "internal_error",
  "waiting_capacity",
  "shutting_down"
]

/** All codes of an operation: those that it shares with others, then its own by the alphabet. */
export const codesOf = ({ codes, isReplayed, mutates, scope }: Answering): ReadonlyArray<ErrorCode> => [
  ...new Set<ErrorCode>([
    ...everywhere,
    ...(scope === "public" ? [] : ["unauthenticated" as const]),
    ...(scope === "act" || scope === "write" || scope === "admin" ? ["insufficient_scope" as const] : []),
    ...(mutates ? ["csrf_failed" as const] : []),
    ...(mutates && isReplayed ? ["idempotency_conflict" as const, "idempotency_in_progress" as const] : []),
    ...[...codes].sort()
  ])
]

/** The codes that an operation may be answered with, by their statuses. */
const byStatus = (answering: Answering): ReadonlyMap<number, ReadonlyArray<ErrorCode>> => {
  const codes = new Map<number, ReadonlyArray<ErrorCode>>()
  for (const code of codesOf(answering)) {
    const { status } = errorKinds[code]
    codes.set(status, [...(codes.get(status) ?? []), code])
  }
  return codes
}

/** The answers to an operation that fails: one for each status, with the codes that it may hold. */
export const errorResponses = (answering: Answering): Json => ({
  ...Object.fromEntries(
    [...byStatus(answering)].map(([status, codes]) => [
      String(status),
      codes.length > mostShared ? failure(codes) : refersToResponse(nameOf(codes))
    ])
  ),
  422: refersToResponse("Malformed"),
  default: refersToResponse("Failure")
})

/** Answers with more codes than these are written out where they are given. */
const mostShared = 3

const refersToResponse = (name: string): Json => ({ $ref: `#/components/responses/${name}` })

/** `turn_active` or `not_found` is the component `TurnActiveOrNotFound`. */
const nameOf = (codes: ReadonlyArray<ErrorCode>): string =>
  codes.map((code) => code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())).join("Or")

/** The answers that several operations share. */
export const sharedResponses = (answerings: ReadonlyArray<Answering>): Json => ({
  ...Object.fromEntries(
    answerings
      .flatMap((answering) => [...byStatus(answering).values()])
      .filter((codes) => codes.length <= mostShared)
      .map((codes) => [nameOf(codes), failure(codes)])
  ),
  Malformed: {
    description: "The request is malformed. `detail` lists everything that is wrong with it.",
    headers: headers("X-Request-Id", "X-Should-Retry"),
    content: { "application/json": { schema: refersTo("HTTPValidationError"), examples: { malformed } } }
  },
  Failure: {
    description: "Another failure, such as one that a later release adds. `code` tells which.",
    headers: headers("X-Request-Id", "X-Should-Retry"),
    content: {
      "application/json": {
        schema: refersTo("ErrorEnvelope"),
        examples: { internal_error: { $ref: "#/components/examples/internal_error" } }
      }
    }
  }
})

/** An example of each code that the operations list. */
export const errorExamples = (answerings: ReadonlyArray<Answering>): Json =>
  Object.fromEntries(
    answerings.flatMap(codesOf).map((code) => [code, { summary: errorTexts[code].when, value: exampleOf(code) }])
  )

/** The answer with one of some codes, which have the same status. */
const failure = (codes: ReadonlyArray<ErrorCode>): Json => {
  const [status] = codes.map((code) => errorKinds[code].status)
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTexts[code].when} ${errorTexts[code].next}`).join(" "),
    headers: headers(
      "X-Request-Id",
      "X-Should-Retry",
      ...(status === 401 ? ["WWW-Authenticate"] : []),
      ...(status === 429 ? ["RateLimit", "RateLimit-Policy"] : []),
      ...(codes.some((code) => waits.has(code)) ? ["Retry-After"] : [])
    ),
    content: {
      "application/json": {
        schema: { allOf: [refersTo("ErrorEnvelope"), withCodes(codes)] },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
      }
    }
  }
}

const withCodes = (codes: ReadonlyArray<ErrorCode>): Json => ({
  type: "object",
  properties: {
    error: {
      type: "object",
      description: "The failure.",
      additionalProperties: true,
      properties: { code: { type: "string", enum: [...codes], description: "What went wrong, for programs." } }
    }
  }
})

const waits: ReadonlySet<ErrorCode> = new Set([
  "rate_limited",
  "idempotency_in_progress",
  "shutting_down",
  "waiting_capacity"
])

const exampleOf = (code: ErrorCode): Json => ({
  error: {
    code,
    category: errorKinds[code].category,
    message: errorTexts[code].when,
    retryable: errorKinds[code].retryable,
    details: {},
    request_id: "0b7c1a52-4b4e-4c7e-9d3f-2f6f0c5a8f11"
  }
})

const malformed = {
  summary: "A required header is missing.",
  value: {
    detail: [{ type: "missing", loc: ["header", "Idempotency-Key"], msg: "Field required", input: {} }]
  }
}

/** The headers of an answer to an operation that succeeds. */
export const successHeaders = ({ isPage, isReplayed, isVersioned, mutates, setsCookies }: Answering): Json =>
  headers(
    "X-Request-Id",
    "RateLimit",
    "RateLimit-Policy",
    "Reins-Unknown-Fields",
    ...(isVersioned ? ["ETag"] : []),
    ...(isPage ? ["Link"] : []),
    ...(mutates && isReplayed ? ["Idempotency-Replayed"] : []),
    ...(setsCookies ? ["Set-Cookie"] : [])
  )

const headers = (...names: ReadonlyArray<keyof typeof responseHeaders | (string & {})>): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const text = (description: string, example: string): Json => ({ description, schema: { type: "string" }, example })

/** The headers of answers, each described once. */
export const responseHeaders = {
  "X-Request-Id": text(
    "The id of the request: the caller's own `X-Request-Id` when it has 1 to 128 letters, digits, dots, hyphens and underscores, else a new one.",
    "0b7c1a52-4b4e-4c7e-9d3f-2f6f0c5a8f11"
  ),
  "X-Should-Retry": text("`true` when the same request may succeed later, else `false`.", "false"),
  "Retry-After": text("The seconds after which the same request can succeed.", "1"),
  "WWW-Authenticate": text("Always `Bearer`.", "Bearer"),
  RateLimit: text(
    "The requests that are left, `r`, and the seconds `t` until one more is free, or until all are. Absent where there is no limit.",
    '"default";r=599;t=1'
  ),
  "RateLimit-Policy": text(
    "The requests `q` in a window of `w` seconds. Absent where there is no limit.",
    '"default";q=600;w=60'
  ),
  "Reins-Unknown-Fields": text(
    "The fields of the body and the parameters of the query that the operation does not know and has passed over, as `body.mesage, query.limt`: " +
      "at most 10 of each, percent-encoded. Absent when there is none.",
    "body.mesage"
  ),
  ETag: text(
    'The version of the resource, as in `"3"`, for `If-Match` of a later change. Absent for a resource without one.',
    '"3"'
  ),
  Link: text('The next page, as `<?cursor=...>; rel="next"`. Absent on the last page.', '<?cursor=MDE5>; rel="next"'),
  "Idempotency-Replayed": text(
    "`true` when this is the stored answer to an earlier request with the same key; else absent.",
    "true"
  ),
  "Set-Cookie": text(
    "The cookies of the login, `__Host-reins_session_` and `reins_csrf_` with 8 characters of the installation. `__Host-` is `__Secure-` below a path, and is not there where the service is not reached over https.",
    "reins_csrf_0a1b2c3d=6d0f; Path=/; SameSite=Lax"
  )
}
