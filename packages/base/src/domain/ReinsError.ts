import { Data, Effect, Schema } from "effect"
import type { ErrorDetails } from "./ErrorDetails.js"
import { field } from "./Field.js"

/** The subject of an error: a group of codes. */
export const ErrorCategory = Schema.Literal(
  "request",
  "authentication",
  "access",
  "state",
  "concurrency",
  "credential",
  "capability",
  "capacity",
  "throttle",
  "changes",
  "delivery",
  "events",
  "upstream",
  "platform"
).annotations({ description: "Groups the codes for programs that do not know each one." })
export type ErrorCategory = typeof ErrorCategory.Type

interface ErrorKind {
  readonly status: number
  readonly category: ErrorCategory
  readonly retryable: boolean
}

const kind = (status: number, category: ErrorCategory, retryable = false): ErrorKind => ({
  status,
  category,
  retryable
})

/** Every code that the API can answer with: its status, its category, and whether the same request may succeed later. */
export const errorKinds = {
  malformed_request: kind(400, "request"),
  invalid_cursor: kind(400, "events"),
  unauthenticated: kind(401, "authentication"),
  invalid_credentials: kind(401, "authentication"),
  forbidden: kind(403, "access"),
  insufficient_scope: kind(403, "access"),
  csrf_failed: kind(403, "access"),
  email_unverified: kind(403, "access"),
  not_found: kind(404, "request"),
  result_not_ready: kind(404, "state"),
  method_not_allowed: kind(405, "request"),
  request_timeout: kind(408, "request", true),
  invalid_transition: kind(409, "state"),
  turn_active: kind(409, "state"),
  version_conflict: kind(409, "concurrency", true),
  idempotency_conflict: kind(409, "concurrency"),
  idempotency_in_progress: kind(409, "concurrency", true),
  already_exists: kind(409, "state"),
  already_claimed: kind(409, "concurrency"),
  connection_in_use: kind(409, "state"),
  connection_required: kind(409, "credential"),
  model_required: kind(409, "capability"),
  budget_unenforceable: kind(409, "capability"),
  connection_revoked: kind(409, "credential"),
  credential_invalid: kind(409, "credential"),
  provider_disabled: kind(409, "capability"),
  unsupported_capability: kind(409, "capability"),
  executor_unavailable: kind(409, "capacity", true),
  context_unavailable: kind(409, "state"),
  harness_switch_required: kind(409, "capability"),
  stale_subject: kind(409, "changes"),
  remote_head_changed: kind(409, "delivery"),
  delivery_unresolved: kind(409, "delivery", true),
  conditions_unmet: kind(409, "delivery", true),
  result_already_set: kind(409, "state"),
  delegation_limit: kind(409, "capacity"),
  history_reset_required: kind(410, "events"),
  token_expired: kind(410, "authentication"),
  payload_too_large: kind(413, "request"),
  unsupported_media_type: kind(415, "request"),
  rate_limited: kind(429, "throttle", true),
  quota_exhausted: kind(429, "throttle"),
  headers_too_large: kind(431, "request"),
  internal_error: kind(500, "platform", true),
  upstream_error: kind(502, "upstream", true),
  waiting_capacity: kind(503, "capacity", true),
  shutting_down: kind(503, "platform", true),
  upstream_timeout: kind(504, "upstream", true)
} as const satisfies Record<string, ErrorKind>

/** A code that the API can answer with. */
export type ErrorCode = keyof typeof errorKinds

/** The details of an error of a code. */
export type DetailsOf<Code extends ErrorCode> = Code extends keyof ErrorDetails ? ErrorDetails[Code] : never

/**
 * An expected failure of a command or a read, of one of the given codes. `message` says what happened and what to do next, and never holds a
 * secret.
 */
export class ReinsError<out Code extends ErrorCode = ErrorCode> extends Data.TaggedError("ReinsError")<{
  /** See the class. */
  readonly code: ErrorCode
  /** Says to a person what happened and what to do next. */
  readonly message: string
  /** See the class. */
  readonly details?: ErrorDetails[keyof ErrorDetails]
  /** Seconds after which a retry can succeed. */
  readonly retryAfterSeconds?: number
}> {
  /** Programs tell errors apart by it. */
  declare readonly code: Code
  /** Facts for programs besides the code. */
  declare readonly details?: DetailsOf<Code>
  constructor(error: {
    readonly code: Code
    readonly message: string
    readonly details?: DetailsOf<Code>
    readonly retryAfterSeconds?: number
  }) {
    super(error)
  }
  /** The HTTP status. */
  get status(): number {
    return errorKinds[this.code].status
  }
  /** The group that its code belongs to. */
  get category(): ErrorCategory {
    return errorKinds[this.code].category
  }
  /** True when the same request may succeed later. */
  get retryable(): boolean {
    return errorKinds[this.code].retryable
  }
  /** True when the error has one of these codes. */
  is<Other extends ErrorCode>(...codes: ReadonlyArray<Other>): this is ReinsError<Other> {
    return codes.some((code: ErrorCode) => code === this.code)
  }
}

/** The errors that remain after those of a code were handled. */
export type WithoutCode<E, Code extends ErrorCode> =
  E extends ReinsError<infer Codes>
    ? Exclude<Codes, Code> extends never
      ? never
      : ReinsError<Exclude<Codes, Code>>
    : E

/** Handles the errors of one code, or of several. Other errors stay as they are. */
export const catchCode =
  <const Code extends ErrorCode, A2, E2, R2>(
    codes: Code | ReadonlyArray<Code>,
    handle: (error: ReinsError<Code>) => Effect.Effect<A2, E2, R2>
  ) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A | A2, WithoutCode<E, Code> | E2, R | R2> =>
    Effect.catchAll(effect, (error): Effect.Effect<A2, WithoutCode<E, Code> | E2, R2> => {
      if (error instanceof ReinsError && error.is(...(typeof codes === "string" ? [codes] : codes)))
        return handle(error)
      // An error of another code is one of those that remain.
      return Effect.fail(error as WithoutCode<E, Code>)
    })

/** The error for an id that does not exist, has another kind, or belongs to others. It is the same for all three. */
export const notFound = (): ReinsError<"not_found"> =>
  new ReinsError({ code: "not_found", message: "No such resource, or it is not visible to these credentials." })

/** The wire form of a `ReinsError`. */
export const ErrorEnvelope = Schema.Struct({
  error: field(
    Schema.Struct({
      code: field(
        // A client has to read the codes of a newer service too, so only the document closes the set.
        Schema.String.annotations({ jsonSchema: { type: "string", enum: Object.keys(errorKinds) } }),
        "What went wrong, for programs. New releases may add codes."
      ),
      category: field(ErrorCategory, "The group of the code."),
      message: field(
        Schema.String,
        "A sentence for people: what happened and what to do next. It never holds a secret."
      ),
      retryable: field(Schema.Boolean, "True when the same request may succeed later."),
      details: field(
        Schema.Record({ key: Schema.String, value: Schema.Unknown }),
        "Facts for programs: ids, numbers and names, depending on the code. Empty for most."
      ),
      request_id: field(Schema.String, "The id of the request, as in the header `X-Request-Id` and in the logs.")
    }),
    "The failure."
  )
}).annotations({
  identifier: "ErrorEnvelope",
  description: "Every failure but a malformed request, which is an `HTTPValidationError`."
})
export type ErrorEnvelope = typeof ErrorEnvelope.Type
