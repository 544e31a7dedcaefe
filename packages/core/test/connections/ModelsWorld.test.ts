import { assert, describe, it } from "@effect/vitest"
import { oddText } from "@reins/base/base/ForeignList"
import { ConnectionId, CredentialId } from "@reins/base/domain/Ids"
import { type Gateway, gatewayOf, listModels, modelsOf } from "@reins/core/connections/GatewayClient"
import { allModels } from "@reins/core/connections/GatewayModels"
import { gatewayProbe } from "@reins/core/connections/GatewayProbe"
import type { OpenConnection } from "@reins/core/connections/OpenConnection"
import { Outbound } from "@reins/machine/outbound/Outbound"
import type { Change } from "@reins/testing/world/Answer"
import { tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer, changesOfElement } from "@reins/testing/world/Changes"
import { inJson, openSpeaker } from "@reins/testing/world/Speaker"
import { Effect, Redacted } from "effect"

const named = (id: string) => ({ id, display_name: id, name: id, context_window: 1000, max_model_len: 2000 })
const google = (id: string) => ({
  name: `models/${id}`,
  displayName: id,
  inputTokenLimit: 1000,
  supportedGenerationMethods: ["generateContent"]
})

const ids = ["one", "odd", "three"]
const fields = ["id", "display_name", "name", "context_window", "max_model_len"]
const ofGoogle = ["name", "displayName", "inputTokenLimit", "supportedGenerationMethods"]

const lists = {
  openai_chat: { list: "data", body: { object: "list", data: ids.map(named) }, fields },
  anthropic_messages: { list: "data", body: { data: ids.map(named), has_more: false }, fields },
  gemini: { list: "models", body: { models: ids.map(google) }, fields: ofGoogle }
} as const

const connectionTo = (base_url: string, protocol: string): OpenConnection => ({
  id: ConnectionId.make("con_01k0000000000000000000000a"),
  credentialId: CredentialId.make("cred_01k0000000000000000000000a"),
  kind: "gateway",
  settings: { base_url, protocol },
  secrets: { api_key: Redacted.make("sk-Zq8rT2vX5nB7") },
  preferredModel: null,
  prices: {}
})

/** A sentence for people. */
const isSentence = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in a sentence.
  text !== "" && text.length <= 700 && !/[\u0000-\u001f\u202e]/.test(text)

/** The fault of the models that were read. */
const judged = (gateway: Gateway, { kind, name }: Change, body: string): ReadonlyArray<string> => {
  const found = modelsOf(gateway, body)
  if (found === undefined) return kind === "lost" ? [] : ["one costs all"]
  if (kind === "lost") return ["nothing was told, and something was read"]
  const { models, odd } = found
  const has = (id: string) => models.some((model) => model.id === id)
  const problems = ["one", "three"].filter((id) => !has(id)).map((id) => `${id} is lost`)
  if (kind === "same" && !(has("odd") && models.length === 3)) problems.push("the truth is lost")
  // A model that is for other uses is left out without a word.
  if (models.length < 3 && odd.length === 0 && !/Methods/.test(name)) problems.push("nobody says what is left out")
  for (const each of odd) if (!isSentence(oddText(each))) problems.push(`no sentence: ${oddText(each)}`)
  for (const { contextWindow, displayName, id } of models) {
    if (!isSentence(id)) problems.push(`the id is ${JSON.stringify(id).slice(0, 100)}`)
    if (displayName !== null && !isSentence(displayName)) problems.push("the name is no name")
    if (contextWindow !== null && ![1000, 2000].includes(contextWindow)) problems.push(`a window of ${contextWindow}`)
  }
  return problems
}

/** The pages of a list, by the place that a request names. The last one names itself as the next. */
const pagesOf = (protocol: string, after: string | null) => {
  const at = after === null ? 0 : ids.indexOf(after) + 1
  const [id = "", next = ids[Math.min(at, 2)]] = ids.slice(at, at + 1)
  return protocol === "gemini"
    ? { models: [google(id)], nextPageToken: next }
    : { data: [named(id)], has_more: true, last_id: next }
}

describe("the world of lists of models", () => {
  for (const protocol of ["anthropic_messages", "gemini"])
    it.scopedLive(`a list of ${protocol} in pages of one model is read whole, and ends`, () =>
      Effect.gen(function* () {
        const speaker = yield* openSpeaker(({ path }) => {
          const query = new URL(path, "http://gateway.example").searchParams
          const body = pagesOf(protocol, query.get("after_id") ?? query.get("pageToken"))
          return { ...inJson, text: JSON.stringify(body) }
        })
        const outbound = yield* Outbound
        const connection = connectionTo(`${speaker.url}/v1`, protocol)
        const gateway = gatewayOf({ gateway: "openai_chat" }, connection, undefined)
        if (gateway === undefined) return assert.fail("there is no gateway")
        const { request, url } = listModels(gateway)
        const first = modelsOf(gateway, (yield* outbound.fetch(url, request)).body)
        if (first === undefined) return assert.fail("there is no list")
        const models = yield* allModels(gateway, first, outbound)
        assert.deepStrictEqual(
          models.map(({ id }) => id),
          ids
        )
        assert.isAtMost(speaker.asked.length, 5)
      }).pipe(Effect.provide(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })))
    )

  for (const [protocol, { body, fields, list }] of Object.entries(lists))
    it.scopedLive(`the models of ${protocol}`, () =>
      Effect.gen(function* () {
        const speaker = yield* openSpeaker(() => ({ ...inJson, text: JSON.stringify(body) }))
        const outbound = yield* Outbound
        const connection = connectionTo(`${speaker.url}/v1`, protocol)
        const gateway = gatewayOf({ gateway: "openai_chat" }, connection, undefined)
        if (gateway === undefined) return assert.fail("there is no gateway")
        const { tried, wrong } = yield* tryBorder({
          name: `gateways: the models of ${protocol}`,
          changes: [...changesOfElement([list], 1, fields), ...changesOfAnswer([list])],
          ask: (change) =>
            Effect.gen(function* () {
              speaker.change = change
              const { request, url } = listModels(gateway)
              const answer = yield* Effect.option(outbound.fetch(url, request))
              const read = answer._tag === "Some" && answer.value.status === 200 ? answer.value.body : ""
              const verdict = yield* gatewayProbe({ gateway: "openai_chat" })(connection, {
                defaultBaseUrl: undefined,
                outbound,
                freshToken: Effect.dieMessage("there is no token")
              })
              const problems = [...judged(gateway, change, read)]
              if ((verdict.state === "passed") !== (change.kind !== "lost")) problems.push(`it is ${verdict.state}`)
              const said = [verdict.message ?? "-", ...verdict.observations.map(({ evidence }) => evidence ?? "-")]
              for (const text of said) if (!isSentence(text)) problems.push(`no sentence: ${text.slice(0, 200)}`)
              return problems
            })
        })
        assert.deepStrictEqual(wrong, [])
        assert.isAbove(tried, 60)
      }).pipe(Effect.provide(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })))
    )
})
