import { Effect, Redacted } from "effect"
import type { ConnectionHealth, ConnectionKind } from "../domain/Connection.js"
import type {
  ConnectionValidationReason,
  ConnectionValidationState,
  Observation
} from "../domain/ConnectionValidation.js"
import { now } from "../domain/Timestamp.js"
import { forgeHost } from "../forge/ForgeHost.js"
import type { Outbound, OutboundAnswer, OutboundError } from "../outbound/Outbound.js"
import type { OpenConnection } from "./Connections.js"
import { complete, type Gateway, type GatewayRequest, gatewayOf, listModels, modelsOf } from "./GatewayClient.js"

/** What a validation learned, and the health of the connection after it. Nothing in it quotes an answer. */
export interface Verdict {
  readonly state: Extract<ConnectionValidationState, "passed" | "failed" | "inconclusive">
  readonly health: ConnectionHealth
  readonly reason?: ConnectionValidationReason
  readonly message?: string
  readonly observations: ReadonlyArray<Observation>
}

/** What can be observed of each kind of connection. */
export const capabilitiesOf: Readonly<Record<ConnectionKind, ReadonlyArray<string>>> = {
  alpha_gateway: ["authentication", "models_list", "completions"],
  beta: ["authentication", "models_list", "completions"],
  github: ["authentication"],
  gitlab: ["authentication"],
  gitea: ["authentication"],
  git: ["authentication"]
}

/** Uses the credential of a connection as lightly as it can be used, and says what that tells. */
export const probe = (outbound: Outbound["Type"], connection: OpenConnection, defaultBaseUrl: string | undefined) => {
  const ask = asking(outbound)
  switch (connection.kind) {
    case "alpha_gateway":
    case "beta": {
      const gateway = gatewayOf(connection, defaultBaseUrl)
      return gateway === undefined ? Effect.succeed(noKey) : probeGateway(ask, gateway, connection.preferredModel)
    }
    case "git":
      return Effect.succeed(noUrl)
    default:
      return probeForge(ask, connection.kind, connection)
  }
}

/** An answer with what it was the answer to, or the verdict that there is none. */
const asking = (outbound: Outbound["Type"]) => (request: GatewayRequest) =>
  outbound.fetch(request.url, request.request).pipe(
    Effect.map((answer) => ({ answer, seen: `${request.name} answered ${answer.status}` })),
    Effect.mapError(unanswered)
  )

const probeGateway = Effect.fnUntraced(function* (
  ask: ReturnType<typeof asking>,
  gateway: Gateway,
  model: string | null
) {
  const at = yield* now
  const list = yield* ask(listModels(gateway))
  const models = list.answer.status === 200 ? modelsOf(gateway, list.answer.body) : undefined
  const listed: Observation = {
    capability: "models_list",
    value: models === undefined ? "unsupported" : "supported",
    evidence: models === undefined ? list.seen : `${list.seen} and lists ${models.length} models`,
    observed_at: at
  }
  if (models !== undefined) return passed(at, list.seen, [listed])
  const refused = refusal(list, at)
  if (refused !== undefined) return refused
  if (model === null) return { ...modelRequired, observations: [listed] }
  const said = yield* ask(complete(gateway, model))
  const ok = said.answer.status >= 200 && said.answer.status < 300
  const completed: Observation = {
    capability: "completions",
    value: ok ? "supported" : "unknown",
    evidence: said.seen,
    observed_at: at
  }
  if (ok) return passed(at, said.seen, [listed, completed])
  const verdict = refusal(said, at) ?? unexpected(said.seen)
  return { ...verdict, observations: [...verdict.observations, listed] }
}, Effect.merge)

const authorizations: Readonly<Record<"github" | "gitlab" | "gitea", string>> = {
  github: "Bearer",
  gitlab: "Bearer",
  gitea: "token"
}

const probeForge = Effect.fnUntraced(function* (
  ask: ReturnType<typeof asking>,
  kind: "github" | "gitlab" | "gitea",
  { secrets, settings }: OpenConnection
) {
  const at = yield* now
  const token = secrets["token"] ?? Redacted.make("")
  const user = yield* ask({
    url: `${forgeHost(kind, settings["base_url"]).api}/user`,
    name: "GET /user",
    request: {
      headers: {
        accept: "application/json",
        "user-agent": "reins",
        authorization: `${authorizations[kind]} ${Redacted.value(token)}`
      }
    }
  })
  return user.answer.status === 200 && isObject(user.answer.body)
    ? passed(at, user.seen, [])
    : (refusal(user, at) ?? unexpected(user.seen))
}, Effect.merge)

const isObject = (body: string): boolean => {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === "object" && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

const passed = (at: Observation["observed_at"], seen: string, more: ReadonlyArray<Observation>): Verdict => ({
  state: "passed",
  health: "ready",
  observations: [{ capability: "authentication", value: "supported", evidence: seen, observed_at: at }, ...more]
})

// GitHub refuses with 403 what is asked too often.
const isLimit = ({ headers, status }: OutboundAnswer): boolean =>
  status === 429 ||
  (status === 403 && (headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"] === "0"))

interface Seen {
  readonly answer: OutboundAnswer
  readonly seen: string
}

/** What an answer tells that is the same whatever was asked; undefined for one that tells nothing by its status. */
const refusal = ({ answer, seen }: Seen, at: Observation["observed_at"]): Verdict | undefined => {
  if (isLimit(answer)) {
    return inconclusive("rate_limited", "degraded", `It was asked too often (${seen}). Validate again later.`)
  }
  if (answer.status === 401 || answer.status === 403) {
    return {
      state: "failed",
      health: "reauth_required",
      reason: "credential_refused",
      message: `The credential was refused (${seen}). Post a new credential version.`,
      observations: [{ capability: "authentication", value: "unsupported", evidence: seen, observed_at: at }]
    }
  }
  if (answer.status === 402) {
    return inconclusive("quota_exhausted", "degraded", `The quota of the credential is used up (${seen}). Raise it.`)
  }
  return answer.status >= 500
    ? inconclusive("upstream_error", "degraded", `It failed by itself (${seen}). Validate again later.`)
    : undefined
}

const inconclusive = (reason: ConnectionValidationReason, health: ConnectionHealth, message: string): Verdict => ({
  state: "inconclusive",
  health,
  reason,
  message,
  observations: []
})

const unexpected = (seen: string): Verdict =>
  inconclusive(
    "unexpected_answer",
    "degraded",
    `The answer says nothing of the credential (${seen}). Check the base_url.`
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
        message: `${message} Post a credential version with another base_url, unless that can be mended there.`,
        observations: []
      }
  }
}

const modelRequired = inconclusive(
  "model_required",
  "unverified",
  "The gateway lists no models, and no model is known to try. Set the connection's preferred_model, check that the base_url is " +
    "complete (it often ends in /v1), and validate again."
)

const noKey = inconclusive(
  "no_endpoint",
  "unverified",
  "The connection has a login of its provider's own and no API key, which only the provider's agent can use. A turn will tell."
)

const noUrl = inconclusive(
  "no_endpoint",
  "unverified",
  "A credential for git has no address of its own to ask. A session that clones with it will tell."
)
