import { Effect } from "effect"
import type { ConnectionHealth } from "../domain/Connection.js"
import type {
  ConnectionValidationReason,
  ConnectionValidationState,
  Observation
} from "../domain/ConnectionValidation.js"
import type { Outbound, OutboundAnswer, OutboundError, OutboundRequest } from "../outbound/Outbound.js"

/** The result of a validation, and the health of the connection after it. Nothing in it quotes an answer. */
export interface Verdict {
  /** `inconclusive` when nothing was learned of the credential. */
  readonly state: Extract<ConnectionValidationState, "passed" | "failed" | "inconclusive">
  /** The health of the connection from now on. */
  readonly health: ConnectionHealth
  /** Why it did not pass. */
  readonly reason?: ConnectionValidationReason
  /** Says to a person what happened and what to do next. */
  readonly message?: string
  /** The capabilities that were seen, with the evidence for each. */
  readonly observations: ReadonlyArray<Observation>
}

/** A request of a probe. */
export interface ProbeRequest {
  /** Absolute. */
  readonly url: string
  /** Method and path, as evidence names the request. */
  readonly name: string
  /** The method, which is GET unless it says so, with headers and a body. */
  readonly request: OutboundRequest
}

/** An answer, with the evidence that it is. */
export interface Seen {
  /** As it came, whatever its status. */
  readonly answer: OutboundAnswer
  /** As in `GET /models answered 200`. */
  readonly evidence: string
}

/** Asks for what a probe needs. Fails with the verdict that no answer came. */
export type AskProbe = (request: ProbeRequest) => Effect.Effect<Seen, Verdict>

/** Asks through the guarded way out of the service. */
export const asking =
  (outbound: Outbound["Type"]): AskProbe =>
  (request) =>
    outbound.fetch(request.url, request.request).pipe(
      Effect.map((answer) => ({ answer, evidence: `${request.name} answered ${answer.status}` })),
      Effect.mapError(unanswered)
    )

/** The credential was taken. */
export const passed = (
  at: Observation["observed_at"],
  evidence: string,
  more: ReadonlyArray<Observation>
): Verdict => ({
  state: "passed",
  health: "ready",
  observations: [{ capability: "authentication", value: "supported", evidence, observed_at: at }, ...more]
})

/** Nothing was learned of the credential. */
export const inconclusive = (
  reason: ConnectionValidationReason,
  health: ConnectionHealth,
  message: string
): Verdict => ({ state: "inconclusive", health, reason, message, observations: [] })

/** The answer has a form that says nothing of the credential. */
export const unexpected = (evidence: string): Verdict =>
  inconclusive(
    "unexpected_answer",
    "degraded",
    `The answer says nothing of the credential (${evidence}). Check the base_url.`
  )

/** The verdict that the status of an answer is by itself, whatever was asked; undefined when the status tells nothing. */
export const refusal = ({ answer, evidence }: Seen, at: Observation["observed_at"]): Verdict | undefined => {
  if (isLimit(answer)) {
    return inconclusive("rate_limited", "degraded", `It was asked too often (${evidence}). Validate again later.`)
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
    ? inconclusive("upstream_error", "degraded", `It failed by itself (${evidence}). Validate again later.`)
    : undefined
}

// GitHub refuses with 403 what is asked too often.
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
        message: `${message} Post a credential version with another base_url, unless that can be mended there.`,
        observations: []
      }
  }
}
