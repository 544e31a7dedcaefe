import { isRedirect } from "@reins/machine/forge/ForgeRedirect"
import {
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest
} from "@reins/machine/outbound/Outbound"
import { Effect } from "effect"
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

/** Sends the requests of a probe through the guarded calls of the service. A redirect on the same origin is followed, as one to a slash. */
export const asking =
  (outbound: Outbound["Type"]): AskProbe =>
  (request) =>
    answerTo(outbound, request, request.url, mostRedirects).pipe(
      Effect.map((answer) => ({ answer, evidence: `${request.name} answered ${answer.status}` })),
      Effect.mapError(unanswered)
    )

const mostRedirects = 3

const answerTo = (
  outbound: Outbound["Type"],
  asked: ProbeRequest,
  url: string,
  left: number
): Effect.Effect<OutboundAnswer, OutboundError> =>
  Effect.flatMap(outbound.fetch(url, asked.request, { answersRedirects: true }), (answer) => {
    const { location } = answer.headers
    if (location === undefined || !isRedirect(answer.status)) return Effect.succeed(answer)
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined
    return left > 0 && next !== undefined && next.origin === new URL(asked.url).origin
      ? answerTo(outbound, asked, next.href, left - 1)
      : Effect.fail(ledAway(url, answer.status))
  })

const ledAway = (url: string, status: number): OutboundError =>
  new OutboundError({
    kind: "redirect",
    message: `${new URL(url).host} answers with a redirect (${status}), which is not followed.`
  })

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
