import { readJson } from "@reins/base/base/ForeignJson"
import { type OddElement, type ReadList, readEach } from "@reins/base/base/ForeignList"
import { adorns, ForeignName, foreignName } from "@reins/base/base/ForeignText"
import { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import { scrubber } from "@reins/machine/harness/Secrets"
import { Option, Redacted, Schema } from "effect"
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
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "")}${path}`
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

/** The query fields of a protocol that gives models by pages: the most models of a page, and the place of the next one. */
const pages: Readonly<Partial<Record<GatewayProtocol, { readonly most: string; readonly after: string }>>> = {
  anthropic_messages: { most: "limit", after: "after_id" },
  gemini: { most: "pageSize", after: "pageToken" }
}

/** The request for the list of models, or for the page of it that another page has named as the next one. */
export const listModels = (gateway: Gateway, next?: string): ProbeRequest => {
  const url = below(gateway, "/models")
  const page = pages[gateway.protocol]
  if (page !== undefined) url.searchParams.set(page.most, "1000")
  if (page !== undefined && next !== undefined) url.searchParams.set(page.after, next)
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

/** The place of a page. */
const Place = Schema.NonEmptyString.pipe(Schema.maxLength(2000))

/** The list has one name with Gemini and another one with all others. */
const readListing = readJson(
  Schema.Union(
    Schema.Struct({ data: Schema.Array(Schema.Unknown), has_more: adorns(Schema.Boolean), last_id: adorns(Place) }),
    Schema.Struct({ models: Schema.Array(Schema.Unknown), nextPageToken: adorns(Place) })
  )
)

const longestId = 255

/** A model is asked for by its id, so an id with characters that nobody sees is none. */
const ModelId = Schema.String.pipe(
  Schema.filter((id) => id !== "" && id.length <= longestId && foreignName(id, longestId) === id)
)
const Name = adorns(ForeignName(longestId))
const Window = adorns(Schema.Number.pipe(Schema.int(), Schema.between(1, 1_000_000_000)))

/** The fields in which gateways say how many tokens a model reads. */
const windows = {
  context_window: Window,
  context_length: Window,
  max_context_length: Window,
  max_model_len: Window,
  max_input_tokens: Window
}

const readModels = readEach(Schema.Struct({ id: ModelId, display_name: Name, name: Name, ...windows }))

/** A model of Gemini, whose own name is a path. Gemini lists models for other uses too, and says what each is for. */
const readGeminiModels = readEach(
  Schema.Struct({
    name: Schema.compose(
      Schema.transform(Schema.String, Schema.String, {
        strict: true,
        decode: (name) => name.replace(/^models\//, ""),
        encode: (id) => id
      }),
      ModelId
    ),
    displayName: Name,
    inputTokenLimit: Window,
    supportedGenerationMethods: adorns(Schema.Array(Schema.Unknown))
  })
)

/** The models of an answer, and those that could not be read. */
export interface ListedModels {
  readonly models: ReadonlyArray<ListedModel>
  readonly odd: ReadonlyArray<OddElement>
  /** The place of the next page; null for none. */
  readonly next: string | null
}

/** The models of an answer to `listModels`, each once, with the key blanked. Undefined for an answer that is no list. */
export const modelsOf = ({ key }: Gateway, body: string): ListedModels | undefined => {
  const listing = Option.getOrUndefined(readListing(scrubber({ key }).scrub(body)))
  if (listing === undefined) return undefined
  const { items, odd } = "data" in listing ? modelsIn(listing.data) : geminiModelsIn(listing.models)
  const models = new Map<string, ListedModel>()
  for (const model of items) if (!models.has(model.id)) models.set(model.id, model)
  const next = "data" in listing ? (listing.has_more === true ? listing.last_id : null) : listing.nextPageToken
  return { models: [...models.values()], odd, next }
}

const modelsIn = (list: ReadonlyArray<unknown>): ReadList<ListedModel> => {
  const { items, odd } = readModels(list)
  const windowOf = (model: (typeof items)[number]) =>
    model.context_window ??
    model.context_length ??
    model.max_context_length ??
    model.max_model_len ??
    model.max_input_tokens
  return {
    items: items.map((model) => ({
      id: model.id,
      displayName: model.display_name || model.name || null,
      contextWindow: windowOf(model)
    })),
    odd
  }
}

const geminiModelsIn = (list: ReadonlyArray<unknown>): ReadList<ListedModel> => {
  const { items, odd } = readGeminiModels(list)
  return {
    items: items
      .filter(({ supportedGenerationMethods: uses }) => uses === null || uses.includes("generateContent"))
      .map(({ displayName, inputTokenLimit, name }) => ({
        id: name,
        displayName: displayName || null,
        contextWindow: inputTokenLimit
      })),
    odd
  }
}
