import type { ErrorEnvelope } from "./generated/Resources.js"
import { errorCategories, errorCodes } from "./generated/Routes.js"

/** A code of the API. */
export type ErrorCode = ErrorEnvelope["error"]["code"]
/** A group of codes. */
export type ErrorCategory = ErrorEnvelope["error"]["category"]

/** A code of the API, or `unknown` for an answer that is not Reins's own (a proxy's) or has a code newer than this client. */
export type ReinsErrorCode = ErrorCode | "unknown"

/** Facts are own fields; the name is not, so that nobody sees it twice. */
abstract class ClientError extends Error {
  abstract readonly _tag: string
  override get name(): string {
    return this._tag
  }
}

/** Reins refused the call. `message` says what happened and what to do next. */
export class ReinsApiError extends ClientError {
  /** Tells it from the other errors of the client. */
  readonly _tag = "ReinsApiError"
  /** Programs tell errors apart by it. */
  readonly code: ReinsErrorCode
  /** The group that the code belongs to. */
  readonly category: ErrorCategory
  /** The HTTP status. */
  readonly status: number
  /** True when the same call may succeed later. */
  readonly retryable: boolean
  /** Ids and closed literals for programs. */
  readonly details: Readonly<Record<string, unknown>>
  /** Names the request in the server's log; null when the answer carried none. */
  readonly requestId: string | null
  /** Seconds to wait before the call is repeated, when the server said so. */
  readonly retryAfterSeconds: number | undefined
  constructor(error: Pick<ReinsApiError, ApiErrorFacts> & { readonly retryAfterSeconds?: number | undefined }) {
    super(error.message)
    this.code = error.code
    this.category = error.category
    this.status = error.status
    this.retryable = error.retryable
    this.details = error.details
    this.requestId = error.requestId
    this.retryAfterSeconds = error.retryAfterSeconds
  }
}

type ApiErrorFacts = "code" | "category" | "status" | "retryable" | "details" | "requestId" | "message"

/** One wrong part of a request. */
export interface ValidationIssue {
  /** As in `["body", "title"]`; starts with `path`, `query`, `header` or `body`. */
  readonly loc: ReadonlyArray<string | number>
  /** The fault, in words. */
  readonly msg: string
  /** The fault, for programs, as in `string_too_short`. */
  readonly type: string
}

/** The request is malformed (422). Repeating it cannot help. */
export class ReinsValidationError extends ClientError {
  /** Tells it from the other errors of the client. */
  readonly _tag = "ReinsValidationError"
  /** The HTTP status, which is always 422. */
  readonly status = 422
  /** The same request fails again. */
  readonly retryable = false
  /** All issues of the request. The values that were sent are left out, since one may be a secret. */
  readonly detail: ReadonlyArray<ValidationIssue>
  /** Names the request in the server's log; null when the answer carried none. */
  readonly requestId: string | null
  constructor(error: Pick<ReinsValidationError, "detail" | "requestId" | "message">) {
    super(error.message)
    this.detail = error.detail
    this.requestId = error.requestId
  }
}

/** No readable answer arrived. A mutation may or may not have happened; repeating it with its idempotency key is safe. */
export class ReinsConnectionError extends ClientError {
  /** Tells it from the other errors of the client. */
  readonly _tag = "ReinsConnectionError"
  /** The same call may succeed later. */
  readonly retryable = true
  /** `unreachable`: no connection; `timeout`: no whole answer in time; `unreadable`: an answer that is not of the API. */
  readonly reason: "unreachable" | "timeout" | "unreadable"
  constructor(error: Pick<ReinsConnectionError, "reason" | "message">) {
    super(error.message)
    this.reason = error.reason
  }
}

/** The errors that every call can fail with. Tell them apart by `instanceof` or by `_tag`. */
export type ReinsClientError = ReinsApiError | ReinsValidationError | ReinsConnectionError

/** An answer that is not a success, as it came. */
export interface Refusal {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly retryAfterSeconds: number | undefined
}

/** The typed error of an answer of Reins or of a proxy before it. */
export const fromRefusal = (refusal: Refusal): ReinsApiError | ReinsValidationError => {
  const body = parse(refusal.text)
  const headerId = refusal.headers.get("x-request-id")
  if (refusal.status === 422 && isRecord(body) && Array.isArray(body.detail)) {
    const detail = body.detail.flatMap(toIssue)
    return new ReinsValidationError({ detail, requestId: headerId, message: describe(detail) })
  }
  const { retryAfterSeconds } = refusal
  if (isRecord(body) && isRecord(body.error) && typeof body.error.code === "string") {
    const { category, code, details, message, request_id, retryable } = body.error
    return new ReinsApiError({
      code: isErrorCode(code) ? code : "unknown",
      category: isCategory(category) ? category : categoryOf(refusal.status),
      status: refusal.status,
      retryable: typeof retryable === "boolean" ? retryable : isTransient(refusal.status),
      details: isRecord(details) ? details : {},
      requestId: typeof request_id === "string" ? request_id : headerId,
      message: `${typeof message === "string" ? message : "The call was refused."}${isErrorCode(code) ? "" : ` (${code})`}`,
      retryAfterSeconds
    })
  }
  return new ReinsApiError({
    code: "unknown",
    category: categoryOf(refusal.status),
    status: refusal.status,
    retryable: isTransient(refusal.status),
    details: {},
    requestId: headerId,
    message: foreignMessage(refusal),
    retryAfterSeconds
  })
}

/** True when a later call may be answered otherwise, as far as the status tells. */
export const isTransient = (status: number): boolean => status === 408 || status === 429 || status >= 500

const foreignMessage = ({ headers, status }: Refusal): string => {
  const location = headers.get("location")
  // A browser hides the status of a redirect.
  if (status === 0 || (status >= 300 && status < 400)) {
    const origin = location !== null && URL.canParse(location) ? ` to ${new URL(location).origin}` : ""
    return `The server redirects${origin} (HTTP ${status}), which the client does not follow. Set baseUrl to where the API is.`
  }
  const kind = headers.get("content-type")?.split(";")[0] ?? "no content type"
  return `HTTP ${status} with a body that is not Reins's own (${kind}). A proxy may have answered, or baseUrl is not a Reins server.`
}

const describe = (detail: ReadonlyArray<ValidationIssue>): string =>
  detail.length === 0
    ? "The request is malformed."
    : `The request is malformed: ${detail.map((issue) => `${issue.loc.join(".")}: ${issue.msg}`).join("; ")}`

const toIssue = (value: unknown): Array<ValidationIssue> =>
  isRecord(value) && Array.isArray(value.loc) && typeof value.msg === "string" && typeof value.type === "string"
    ? [{ loc: value.loc.filter(isLocPart), msg: value.msg, type: value.type }]
    : []

const isLocPart = (part: unknown): part is string | number => typeof part === "string" || typeof part === "number"

const isErrorCode = (code: string): code is ErrorCode => errorCodes.includes(code)

const isCategory = (category: unknown): category is ErrorCategory =>
  typeof category === "string" && errorCategories.includes(category)

const categoryOf = (status: number): ErrorCategory => {
  if (status === 401) return "authentication"
  if (status === 403) return "access"
  if (status === 429) return "throttle"
  return status >= 500 ? "upstream" : "request"
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
