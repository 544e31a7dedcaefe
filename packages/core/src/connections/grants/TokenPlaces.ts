import { readJson } from "@reins/base/base/ForeignJson"
import { adorns, foreignName } from "@reins/base/base/ForeignText"
import { hostOf, isLoopback } from "@reins/machine/outbound/Address"
import type { Outbound, OutboundAnswer, OutboundError, OutboundLimits } from "@reins/machine/outbound/Outbound"
import { Effect, Option, Redacted, Schema } from "effect"
import type { OpenConnection } from "../OpenConnection.js"
import { boundIssuer, GrantRefused, type TokenPlace } from "./Grant.js"
import { isUrlOf, trimmed } from "./ServerUrl.js"

// Owns the documents by which a server tells of its authorization server: RFC 9728, RFC 8414 and OpenID Connect Discovery.

/** No honest document or answer is longer. */
export const grantLimits: OutboundLimits = { maxBytes: 256 * 1024, timeoutMs: 8000 }

/** Texts, of which those that are none are left out. */
const Texts = Schema.transform(Schema.Array(Schema.Unknown), Schema.Array(Schema.String), {
  strict: true,
  decode: (list) => list.filter((each) => typeof each === "string"),
  encode: (list) => list
})

const Resource = Schema.Struct({ resource: Schema.String, authorization_servers: adorns(Texts) })

const Issuer = Schema.Struct({
  issuer: Schema.String,
  token_endpoint: adorns(Schema.String),
  token_endpoint_auth_methods_supported: adorns(Texts)
})

/** The failure of a request that got no answer. */
export const unasked = ({ kind, message }: OutboundError): GrantRefused =>
  new GrantRefused({
    reason: kind === "refused_address" ? "address_refused" : kind === "too_large" ? "unexpected_answer" : kind,
    message
  })

const unexpected = (message: string) => new GrantRefused({ reason: "unexpected_answer", message })

const longestUrl = 4096

/** An address that secrets may be sent to: https, or this machine where the operator allows it. */
export const safeUrl = (text: string): URL | undefined => {
  // Its server has told no address with characters that nobody sees.
  if (text.length > longestUrl || foreignName(text, longestUrl) !== text || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && isLoopback(hostOf(url)))
  return isSafe && url.username === "" && url.password === "" ? url : undefined
}

/** Finds the place that gives tokens for the server of a connection. */
export const findPlace = Effect.fnUntraced(function* (
  { secrets, settings }: OpenConnection,
  outbound: Outbound["Type"]
): Effect.fn.Return<TokenPlace, GrantRefused> {
  const { server_url = "", token_endpoint } = settings
  if (token_endpoint !== undefined) {
    const endpoint = safeUrl(token_endpoint)
    if (endpoint === undefined) return yield* unsafe("token_endpoint of the connection")
    return { endpoint, resource: server_url, methods: undefined, issuer: undefined }
  }
  const get = (url: URL) => Effect.map(Effect.mapError(fetchDocument(outbound, url), unasked), okBody)
  const { authorization_servers, resource } = yield* findResource(new URL(server_url), get, outbound)
  const servers = authorization_servers ?? []
  const bound = secrets[boundIssuer]
  const issuer = bound === undefined ? undefined : Redacted.value(bound)
  const named = issuer === undefined ? servers[0] : servers.find((one) => isSame(one, issuer))
  if (named === undefined && issuer !== undefined)
    return yield* new GrantRefused({
      reason: "address_refused",
      message:
        "The server no longer names the authorization server of the connection. If that is right, give the connection a new credential."
    })
  if (named === undefined)
    return yield* unexpected("The server names no authorization server. Give the connection a token_endpoint.")
  const found = yield* findIssuer(named, get)
  return { ...found, resource }
})

type Get = (url: URL) => Effect.Effect<string | undefined, GrantRefused>

const fetchDocument = (outbound: Outbound["Type"], url: URL) =>
  outbound.fetch(url.href, { headers: { accept: "application/json" } }, grantLimits)

/** The body of a document that is there; undefined for one that is not. */
const okBody = ({ body, status }: OutboundAnswer): string | undefined => (status === 200 ? body : undefined)

const decoded = <A, I>(schema: Schema.Schema<A, I>, body: string): A | undefined =>
  Option.getOrUndefined(readJson(schema)(body))

/** The document that a server has of itself, at its known addresses or where the server says in its refusal. */
const findResource = Effect.fnUntraced(function* (server: URL, get: Get, outbound: Outbound["Type"]) {
  const wellKnown = "/.well-known/oauth-protected-resource"
  const own = trimmed(server.pathname)
  const places = [...new Set([`${wellKnown}${own}${server.search}`, wellKnown])].map((path) => new URL(path, server))
  let other = false
  for (const place of places) {
    const body = yield* get(place)
    const document = body === undefined ? undefined : decoded(Resource, body)
    if (document !== undefined && isUrlOf(document.resource, server)) return document
    other ||= document !== undefined
  }
  const told = yield* toldPlace(server, outbound)
  if (told !== undefined) {
    const body = yield* get(told)
    const document = body === undefined ? undefined : decoded(Resource, body)
    if (document !== undefined && isUrlOf(document.resource, server)) return document
    other ||= document !== undefined
  }
  return yield* unexpected(
    other
      ? `The metadata at ${server.host} is of another server than the server_url of the connection.`
      : `${server.host} publishes no metadata that names its authorization server. Give the connection a token_endpoint.`
  )
})

/** The address of the document in the refusal of a call without a token. */
const toldPlace = Effect.fnUntraced(function* (server: URL, outbound: Outbound["Type"]) {
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
  const asked = outbound.fetch(server.href, { method: "POST", headers, body }, { ...grantLimits, bodyWaitMs: 0 })
  const answer = yield* Effect.mapError(asked, unasked)
  const [, told] = /resource_metadata="([^"]{1,2000})"/.exec(String(answer.headers["www-authenticate"] ?? "")) ?? []
  return answer.status === 401 && told !== undefined ? safeUrl(told) : undefined
})

/** The document of an authorization server, which has to call itself by the name that the server has told. */
const findIssuer = Effect.fnUntraced(function* (named: string, get: Get) {
  const base = safeUrl(named)
  if (base === undefined) return yield* unsafe("authorization server")
  for (const place of issuerPlaces(base)) {
    const body = yield* get(place)
    const document = body === undefined ? undefined : decoded(Issuer, body)
    if (document === undefined) continue
    if (!isSame(document.issuer, named))
      return yield* unexpected(
        `The metadata at ${base.host} is of another authorization server, so nothing is sent there.`
      )
    if (document.token_endpoint === null)
      return yield* unexpected(
        `The metadata at ${base.host} names no token endpoint. Give the connection a token_endpoint.`
      )
    const endpoint = safeUrl(document.token_endpoint)
    if (endpoint === undefined) return yield* unsafe("token endpoint")
    // RFC 8414 says that this is the way where none is named.
    const methods = document.token_endpoint_auth_methods_supported ?? ["client_secret_basic"]
    return { endpoint, methods, issuer: named }
  }
  return yield* unexpected(
    `${base.host} publishes no metadata of an authorization server. Give the connection a token_endpoint.`
  )
})

const issuerPlaces = (issuer: URL): ReadonlyArray<URL> => {
  const path = trimmed(issuer.pathname)
  const texts = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `${path}/.well-known/openid-configuration`
  ]
  return [...new Set(texts)].map((text) => new URL(text, issuer))
}

/** Two names of one authorization server. The document may leave out the slash that a URL without a path has. */
const isSame = (one: string, other: string): boolean => one === other || trimmed(one) === trimmed(other)

const unsafe = (what: string) =>
  new GrantRefused({
    reason: "address_refused",
    message: `The ${what} has no https address without credentials in it, so nothing is sent there.`
  })
