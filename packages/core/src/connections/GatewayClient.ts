import { Either, Redacted, Schema } from "effect"
import { GatewayProtocol } from "../domain/GatewayProtocol.js"
import { scrubber } from "../harness/Secrets.js"
import type { ConnectionKind } from "./ConnectionKind.js"
import type { OpenConnection } from "./OpenConnection.js"
import type { ProbeRequest } from "./Verdict.js"

/** The base URL, the protocol and the key that the service needs to ask a gateway. */
export interface Gateway {
  readonly baseUrl: URL
  readonly protocol: GatewayProtocol
  readonly key: Redacted.Redacted
}

/**
 * The gateway of a connection. Undefined when the kind has no gateway, or when the connection has no key, or no base URL of its own or of its
 * provider.
 */
export const gatewayOf = (
  kind: Pick<ConnectionKind, "gateway"> | undefined,
  { secrets, settings }: OpenConnection,
  defaultBaseUrl: string | undefined
): Gateway | undefined => {
  const key = secrets["api_key"]
  const baseUrl = settings["base_url"] ?? defaultBaseUrl
  if (!kind?.gateway || key === undefined || baseUrl === undefined || !URL.canParse(baseUrl)) return undefined
  const named = GatewayProtocol.literals.find((protocol) => protocol === settings["protocol"])
  return { baseUrl: new URL(baseUrl), protocol: named ?? kind.gateway, key }
}

const below = ({ baseUrl }: Gateway, path: string): URL => {
  const url = new URL(baseUrl)
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`
  return url
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** The key where each protocol has it. */
const keyHeaders: Readonly<Record<GatewayProtocol, (key: string) => Readonly<Record<string, string>>>> = {
  openai_chat: bearer,
  openai_responses: bearer,
  anthropic_messages: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  gemini: (key) => ({ "x-goog-api-key": key })
}

const headersOf = ({ key, protocol }: Gateway): Readonly<Record<string, string>> => ({
  accept: "application/json",
  "user-agent": "reins",
  ...keyHeaders[protocol](Redacted.value(key))
})

/** The most models of a page, where a protocol gives only some without a limit. */
const pageLimits: Readonly<Partial<Record<GatewayProtocol, string>>> = {
  anthropic_messages: "limit",
  gemini: "pageSize"
}

/** The request for the list of models. */
export const listModels = (gateway: Gateway): ProbeRequest => {
  const url = below(gateway, "/models")
  const limit = pageLimits[gateway.protocol]
  if (limit !== undefined) url.searchParams.set(limit, "1000")
  return { url: url.href, name: "GET /models", request: { headers: headersOf(gateway) } }
}

const completions: Readonly<
  Record<
    GatewayProtocol,
    { readonly path: (model: string) => string; readonly body: (model: string) => Readonly<Record<string, unknown>> }
  >
> = {
  openai_chat: {
    path: () => "/chat/completions",
    body: (model) => ({ model, max_tokens: 1, messages: [{ role: "user", content: "Hello" }] })
  },
  // The protocol allows no fewer than 16 tokens.
  openai_responses: { path: () => "/responses", body: (model) => ({ model, max_output_tokens: 16, input: "Hello" }) },
  anthropic_messages: {
    path: () => "/messages",
    body: (model) => ({ model, max_tokens: 1, messages: [{ role: "user", content: "Hello" }] })
  },
  gemini: {
    path: (model) => `/models/${encodeURIComponent(model)}:generateContent`,
    body: () => ({ contents: [{ role: "user", parts: [{ text: "Hello" }] }], generationConfig: { maxOutputTokens: 1 } })
  }
}

/** The request that has a model answer with as few tokens as the protocol allows. */
export const completionRequest = (gateway: Gateway, model: string): ProbeRequest => {
  const { body, path: pathOf } = completions[gateway.protocol]
  const path = pathOf(model)
  return {
    url: below(gateway, path).href,
    name: `POST ${path}`,
    request: {
      method: "POST",
      headers: { ...headersOf(gateway), "content-type": "application/json" },
      body: JSON.stringify(body(model))
    }
  }
}

/** The status of an answer. Gemini says 400 of a key that it does not know. */
export const statusOf = (
  { protocol }: Pick<Gateway, "protocol">,
  { body, status }: { readonly status: number; readonly body: string }
): number => (protocol === "gemini" && status === 400 && body.includes("API_KEY_INVALID") ? 401 : status)

/** A model as a gateway lists it. */
export interface ListedModel {
  readonly id: string
  readonly displayName: string | null
  readonly contextWindow: number | null
}

const Entries = Schema.Array(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** The list has one name with Gemini and another one with all others. */
const Listing = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ data: Entries }),
    Schema.transform(Schema.Struct({ models: Entries }), Schema.Struct({ data: Entries }), {
      strict: true,
      decode: ({ models }) => ({ data: models.filter(answers).map(renamed) }),
      encode: ({ data }) => ({ models: data })
    })
  )
)

type Entry = (typeof Entries.Type)[number]

/** Gemini lists models for other uses too, and says what each is for. */
const answers = ({ supportedGenerationMethods: uses }: Entry): boolean =>
  !Array.isArray(uses) || uses.includes("generateContent")

/** A model of Gemini by the names of the others. Its own name is a path. */
const renamed = ({ displayName, inputTokenLimit, name }: Entry): Entry => ({
  id: typeof name === "string" ? name.replace(/^models\//, "") : name,
  display_name: displayName,
  context_window: inputTokenLimit
})

/** The fields in which gateways say how many tokens a model reads. */
const windowFields = ["context_window", "context_length", "max_context_length", "max_model_len", "max_input_tokens"]

const isWindow = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0

/** The models of an answer to `listModels`, each once, with the key blanked. Undefined for an answer that is no list. */
export const modelsOf = ({ key }: Gateway, body: string): ReadonlyArray<ListedModel> | undefined => {
  const listing = Schema.decodeUnknownEither(Listing)(scrubber({ key }).scrub(body))
  if (Either.isLeft(listing)) return undefined
  const models = new Map<string, ListedModel>()
  for (const model of listing.right.data) {
    const { display_name: displayName = model["name"], id } = model
    if (typeof id !== "string" || id === "" || models.has(id)) continue
    models.set(id, {
      id,
      displayName: typeof displayName === "string" && displayName !== "" ? displayName : null,
      contextWindow: windowFields.map((field) => model[field]).find(isWindow) ?? null
    })
  }
  return [...models.values()]
}
