import { Effect } from "effect"
import type { Outbound, OutboundAnswer, OutboundError, OutboundRequest } from "../outbound/Outbound.js"
import type { ConnectionHealth } from "./Connection.js"
import type { ConnectionValidationReason, ConnectionValidationState, Observation } from "./ConnectionValidation.js"

/** The result of a validation, and the health of the connection after it. It quotes no answer, because an answer may hold a secret. */
export interface Verdict {
  /** `inconclusive` when the validation learned nothing about the credential. */
  readonly state: Extract<ConnectionValidationState, "passed" | "failed" | "inconclusive">
  /** The health of the connection from now on. */
  readonly health: ConnectionHealth
  /** The reason why the validation did not pass. */
  readonly reason?: ConnectionValidationReason
  /** Says to a person what happened and what to do next. */
  readonly message?: string
  /** The private address that the forge gives to the user of the token for commits. */
  readonly privateEmail?: string
  /** The capabilities that were seen, with the evidence for each. */
  readonly observations: ReadonlyArray<Observation>
}

/** A request of a probe. */
export interface ProbeRequest {
  /** An absolute URL. */
  readonly url: string
  /** The method and the path. The evidence names the request by them. */
  readonly name: string
  /** The method, which is GET by default, the headers and the body. */
  readonly request: OutboundRequest
}

/** An answer, and the evidence that names it. */
export interface Seen {
  /** The answer of any status. */
  readonly answer: OutboundAnswer
  /** A text such as `GET /models answered 200`. */
  readonly evidence: string
}

/** Sends a request of a probe. Fails with a verdict when no answer comes. */
export type AskProbe = (request: ProbeRequest) => Effect.Effect<Seen, Verdict>

/** Sends the requests of a probe through the guarded calls of the service. */
export const asking =
  (outbound: Outbound["Type"]): AskProbe =>
  (request) =>
    outbound.fetch(request.url, request.request).pipe(
      Effect.map((answer) => ({ answer, evidence: `${request.name} answered ${answer.status}` })),
      Effect.mapError(unanswered)
    )

/** The verdict that the credential was accepted. */
export const passed = (
  at: Observation["observed_at"],
  evidence: string,
  more: ReadonlyArray<Observation>
): Verdict => ({
  state: "passed",
  health: "ready",
  observations: [{ capability: "authentication", value: "supported", evidence, observed_at: at }, ...more]
})

/** The verdict that the validation learned nothing about the credential. */
export const inconclusive = (
  reason: ConnectionValidationReason,
  health: ConnectionHealth,
  message: string
): Verdict => ({ state: "inconclusive", health, reason, message, observations: [] })

/** The verdict on an answer that tells nothing about the credential. */
export const unexpected = (evidence: string): Verdict =>
  inconclusive(
    "unexpected_answer",
    "degraded",
    `The answer tells nothing about the credential (${evidence}). Check the base_url.`
  )

/** The verdict that follows from the status of an answer to any request. Undefined when the status tells nothing. */
export const refusal = ({ answer, evidence }: Seen, at: Observation["observed_at"]): Verdict | undefined => {
  if (isLimit(answer)) {
    return inconclusive(
      "rate_limited",
      "degraded",
      `The service was asked too often (${evidence}). Validate again later.`
    )
  }
  if (answer.status === 401 || answer.status === 403) {
    return {
      state: "failed",
      health: "reauth_required",
      reason: "credential_refused",
      message: `The credential was refused (${evidence}). Post a new credential version.`,
      observations: [{ capability: "authentication", value: "unsupported", evidence, observed_at: at }]
    }
  }
  if (answer.status === 402) {
    return inconclusive(
      "quota_exhausted",
      "degraded",
      `The quota of the credential is used up (${evidence}). Raise it.`
    )
  }
  return answer.status >= 500
    ? inconclusive("upstream_error", "degraded", `The service failed (${evidence}). Validate again later.`)
    : undefined
}

// GitHub answers with 403 when it is asked too often.
const isLimit = ({ headers, status }: OutboundAnswer): boolean =>
  status === 429 ||
  (status === 403 && (headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"] === "0"))

const unanswered = ({ kind, message }: OutboundError): Verdict => {
  switch (kind) {
    case "timeout":
    case "unreachable":
      return inconclusive(kind, "degraded", `${message} Validate again when it can be reached.`)
    case "too_large":
      return inconclusive("unexpected_answer", "degraded", `${message} Check the base_url.`)
    default:
      return {
        state: "failed",
        health: "degraded",
        reason: kind === "refused_address" ? "address_refused" : kind,
        message: `${message} Post a credential version with another base_url, or correct the fault on that host.`,
        observations: []
      }
  }
}
