import { oddText } from "@reins/base/base/ForeignList"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import type { ConnectionKind } from "./ConnectionKind.js"
import type { Observation } from "./ConnectionValidation.js"
import {
  completionRequest,
  type Gateway,
  gatewayOf,
  type ListedModels,
  listModels,
  modelsOf,
  statusOf
} from "./GatewayClient.js"
import { refusal } from "./ProbeRefusal.js"
import { type AskProbe, asking, inconclusive, passed, unexpected, type Verdict } from "./Verdict.js"

/** The capabilities that the probe of a gateway observes. */
export const gatewayCapabilities = ["authentication", "models_list", "completions"]

/**
 * The probe of a kind whose key belongs to a gateway. It lists the models. When the gateway has no list, it asks the preferred model for the
 * shortest answer.
 */
export const gatewayProbe =
  (kind: Pick<ConnectionKind, "gateway">): ConnectionKind["probe"] =>
  (connection, { defaultBaseUrl, outbound }) => {
    const gateway = gatewayOf(kind, connection, defaultBaseUrl)
    return gateway === undefined
      ? Effect.succeed(noKey)
      : Effect.merge(probe(understood(gateway, asking(outbound)), gateway, connection.preferredModel))
  }

/** Reads the status of each answer as its protocol means it. */
const understood =
  (gateway: Gateway, ask: AskProbe): AskProbe =>
  (request) =>
    Effect.map(ask(request), (seen) => ({
      ...seen,
      answer: { ...seen.answer, status: statusOf(gateway, seen.answer) }
    }))

const probe = Effect.fnUntraced(function* (ask: AskProbe, gateway: Gateway, model: string | null) {
  const at = yield* now
  const list = yield* ask(listModels(gateway))
  const models = list.answer.status === 200 ? modelsOf(gateway, list.answer.body) : undefined
  const listed: Observation = {
    capability: "models_list",
    value: models === undefined ? "unsupported" : "supported",
    evidence: models === undefined ? list.evidence : `${list.evidence} and lists ${listText(models)}`,
    observed_at: at
  }
  if (models !== undefined) return passed(at, list.evidence, [listed])
  const refused = yield* refusal(list, at)
  if (refused !== undefined) return refused
  if (model === null) return { ...modelRequired, observations: [listed] }
  return yield* probeModel(ask, gateway, model, listed)
})

/** The models of a list in words. The first that cannot be read is named. */
const listText = ({ models, next, odd: [odd, ...more] }: ListedModels): string => {
  const listed = `${models.length} models${next === null ? "" : " on its first page"}`
  if (odd === undefined) return listed
  const rest = more.length === 0 ? "" : ` and ${more.length} more`
  return `${listed}; ${oddText(odd)}${rest} cannot be read`
}

const probeModel = Effect.fnUntraced(function* (ask: AskProbe, gateway: Gateway, model: string, listed: Observation) {
  const said = yield* ask(completionRequest(gateway, model))
  const isTaken = said.answer.status >= 200 && said.answer.status < 300
  if (isTaken) {
    const { evidence } = said
    const completed: Observation = { ...listed, capability: "completions", value: "supported", evidence }
    return passed(listed.observed_at, evidence, [listed, completed])
  }
  const verdict: Verdict = (yield* refusal(said, listed.observed_at)) ?? unexpected(said.evidence)
  return { ...verdict, observations: [...verdict.observations, listed] }
})

const modelRequired = inconclusive(
  "model_required",
  "unverified",
  "The gateway lists no models, and no model is known to try. Set the connection's preferred_model, check that the base_url is " +
    "complete (it often ends in /v1), and validate again."
)

const noKey = inconclusive(
  "no_endpoint",
  "unverified",
  "The connection has no API key. Only the provider's agent can use its login, so a turn has to show if the login is accepted."
)
