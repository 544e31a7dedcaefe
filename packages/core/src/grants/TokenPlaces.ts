import { readJson } from "@reins/base/base/ForeignJson"
import { adorns, bounded, type ForeignText, foreignName } from "@reins/base/base/ForeignText"
import { hostOf, isLoopback } from "@reins/machine/outbound/Address"
import type { Outbound, OutboundAnswer, OutboundError, OutboundLimits } from "@reins/machine/outbound/Outbound"
import { Effect, Option, Redacted, Schema } from "effect"
import { boundIssuer, type GrantClient, GrantRefused, isScopeList, type TokenPlace } from "./Grant.js"
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

const Resource = Schema.Struct({
  resource: Schema.String,
  authorization_servers: adorns(Texts),
  scopes_supported: adorns(Texts)
})

const Issuer = Schema.Struct({
  issuer: Schema.String,
  token_endpoint: adorns(Schema.String),
  token_endpoint_auth_methods_supported: adorns(Texts),
  authorization_endpoint: adorns(Schema.String),
  registration_endpoint: adorns(Schema.String),
  revocation_endpoint: adorns(Schema.String),
  code_challenge_methods_supported: adorns(Texts),
  scopes_supported: adorns(Texts),
  client_id_metadata_document_supported: adorns(Schema.Boolean),
  authorization_response_iss_parameter_supported: adorns(Schema.Boolean)
})

/** An authorization server with the document that it has of itself. */
export interface IssuerPlace extends TokenPlace {
  readonly issuer: string
  readonly document: typeof Issuer.Type
  /** The scopes that the server of tools wants, with a space between them; undefined where it names none. */
  readonly wanted: string | undefined
}

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
  { secrets, settings }: GrantClient,
  outbound: Outbound["Type"]
): Effect.fn.Return<TokenPlace, GrantRefused> {
  const { server_url = "", token_endpoint } = settings
  if (token_endpoint !== undefined) {
    const endpoint = safeUrl(token_endpoint)
    if (endpoint === undefined) return yield* unsafe("token_endpoint of the connection")
    return { endpoint, resource: server_url, methods: undefined, issuer: undefined }
  }
  const get = documentsBy(outbound)
  const { authorization_servers, resource } = yield* findResource(new URL(server_url), get, outbound)
  const servers = authorization_servers ?? []
  const bound = secrets[boundIssuer]
  const issuer = bound === undefined ? undefined : Redacted.value(bound)
  const named = issuer === undefined ? servers[0] : servers.find((one) => isSameIssuer(one, issuer))
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

/** Finds the authorization server of a server that a person logs in to. Fails for one that lets nobody in by a browser. */
export const findLoginPlace = Effect.fnUntraced(function* (
  serverUrl: string,
  outbound: Outbound["Type"]
): Effect.fn.Return<IssuerPlace, GrantRefused> {
  const get = documentsBy(outbound)
  const server = new URL(serverUrl)
  const challenge = yield* challengeOf(server, outbound)
  const { authorization_servers, resource, scopes_supported } = yield* findResource(server, get, outbound, challenge)
  const named = authorization_servers?.[0]
  if (named === undefined) return yield* unexpected(`${server.host} names no authorization server.`)
  const wanted = challenge.scope ?? (scopes_supported?.length ? scopes_supported.join(" ") : undefined)
  return { ...(yield* findIssuer(named, get)), resource, wanted }
})

const documentsBy =
  (outbound: Outbound["Type"]): Get =>
  (url) =>
    Effect.mapError(fetchDocument(outbound, url), unasked)

type Get = (url: URL) => Effect.Effect<OutboundAnswer, GrantRefused>

const fetchDocument = (outbound: Outbound["Type"], url: URL) =>
  outbound.fetch(url.href, { headers: { accept: "application/json" } }, grantLimits)

/** A document that is there and can be read; undefined for any other answer. */
const documentIn = <A, I>(schema: Schema.Schema<A, I>, { body, status }: OutboundAnswer): A | undefined =>
  status === 200 ? Option.getOrUndefined(readJson(schema)(body)) : undefined

/** True where a server says that it has no such document. What cannot be read, or is not there for now, is not absent. */
const isAbsent = ({ status }: OutboundAnswer): boolean =>
  status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429

/**
 * The document that a server has of itself, where its refusal says or at its known addresses. A server of before RFC 9728 has none, and is its own
 * authorization server.
 */
const findResource = Effect.fnUntraced(function* (
  server: URL,
  get: Get,
  outbound: Outbound["Type"],
  challenge?: Challenge
) {
  const wellKnown = "/.well-known/oauth-protected-resource"
  const own = trimmed(server.pathname)
  const places = [...new Set([`${wellKnown}${own}${server.search}`, wellKnown])].map((path) => new URL(path, server))
  let [other, unread] = [false, false]
  const at = Effect.fnUntraced(function* (place: URL) {
    const answer = yield* get(place)
    const document = documentIn(Resource, answer)
    const isOwn = document !== undefined && isUrlOf(document.resource, server)
    other ||= document !== undefined && !isOwn
    unread ||= document === undefined && !isAbsent(answer)
    return isOwn ? document : undefined
  })
  const first = challenge?.metadata
  for (const place of first === undefined ? places : [first, ...places]) {
    const document = yield* at(place)
    if (document !== undefined) return document
  }
  const told = challenge === undefined ? (yield* challengeOf(server, outbound)).metadata : undefined
  const document = told === undefined ? undefined : yield* at(told)
  if (document !== undefined) return document
  if (!other && !unread && (yield* isOwnIssuer(server, get)))
    return { resource: server.href, authorization_servers: [server.origin], scopes_supported: null }
  if (other)
    return yield* unexpected(
      `The metadata at ${server.host} is of another server than the server_url of the connection.`
    )
  if (challenge?.isOpen === true)
    return yield* unexpected(`${server.host} answers without a login, so it needs no connection.`)
  const advice =
    challenge === undefined ? "Give the connection a token_endpoint." : "So nobody can log in to it with a browser."
  return yield* unexpected(`${server.host} publishes no metadata that names its authorization server. ${advice}`)
})

const isOwnIssuer = Effect.fnUntraced(function* (server: URL, get: Get) {
  const document = documentIn(Issuer, yield* get(new URL("/.well-known/oauth-authorization-server", server)))
  return document !== undefined && isSameIssuer(document.issuer, server.origin)
})

/** What a server says when it refuses a call without a token. */
interface Challenge {
  /** The address of its document. */
  readonly metadata: URL | undefined
  readonly scope: string | undefined
  /** True where it does not refuse the call. */
  readonly isOpen: boolean
}

const challengeOf = Effect.fnUntraced(function* (
  server: URL,
  outbound: Outbound["Type"]
): Effect.fn.Return<Challenge, GrantRefused> {
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
  const asked = outbound.fetch(server.href, { method: "POST", headers, body }, { ...grantLimits, bodyWaitMs: 0 })
  const answer = yield* Effect.mapError(asked, unasked)
  if (answer.status !== 401) return { metadata: undefined, scope: undefined, isOpen: answer.status < 300 }
  const said = bounded(String(answer.headers["www-authenticate"] ?? ""), 8000)
  const told = valueIn(said, metadataIn)
  const scope = valueIn(said, scopeIn)
  return {
    metadata: told === undefined ? undefined : safeUrl(told),
    scope: scope !== undefined && isScopeList(scope) ? scope : undefined,
    isOpen: false
  }
})

// Parameters of the header `WWW-Authenticate`, quoted or not.
const metadataIn = /(?:^|[\s,])resource_metadata=(?:"([^"]{1,2000})"|([^\s,"]{1,2000}))/i
const scopeIn = /(?:^|[\s,])scope=(?:"([^"]{1,2000})"|([^\s,"]{1,2000}))/i

const valueIn = (header: ForeignText, parameter: RegExp): string | undefined => {
  const [, quoted, plain] = parameter.exec(header) ?? []
  return quoted ?? plain
}

/** The document of an authorization server, which has to call itself by the name that the server has told. */
const findIssuer = Effect.fnUntraced(function* (named: string, get: Get) {
  const base = safeUrl(named)
  if (base === undefined) return yield* unsafe("authorization server")
  for (const place of issuerPlaces(base)) {
    const document = documentIn(Issuer, yield* get(place))
    if (document === undefined) continue
    if (!isSameIssuer(document.issuer, named))
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
    const { revocation_endpoint } = document
    const revocation = revocation_endpoint === null ? undefined : safeUrl(revocation_endpoint)
    return { endpoint, methods, issuer: named, revocation, document }
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
const isSameIssuer = (one: string, other: string): boolean => one === other || trimmed(one) === trimmed(other)

const unsafe = (what: string) =>
  new GrantRefused({
    reason: "address_refused",
    message: `The ${what} has no https address without credentials in it, so nothing is sent there.`
  })
