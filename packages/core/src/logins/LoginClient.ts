import { readJson } from "@reins/base/base/ForeignJson"
import { hostOf, isLoopback } from "@reins/machine/outbound/Address"
import type { Outbound, OutboundAnswer } from "@reins/machine/outbound/Outbound"
import { Effect, Option, Schema } from "effect"
import { GrantRefused } from "../grants/Grant.js"
import { grantLimits, type IssuerPlace, safeUrl, unasked } from "../grants/TokenPlaces.js"
import type { ClientIdentity } from "./ConnectionLogin.js"
import { clientDocument, clientName } from "./LoginAddresses.js"

// Owns the client that an authorization server knows: a client ID document, a registration of RFC 7591, or an id that somebody has registered.

/** A client as an authorization server knows it. */
export interface LoginClient {
  readonly identity: ClientIdentity
  readonly id: string
  readonly secret?: string | undefined
}

/** The wish of whoever logs in. */
export interface ClientWish {
  readonly publicUrl: string
  readonly redirectUri: string
  /** A client that somebody has registered by hand. */
  readonly given: Omit<LoginClient, "identity"> | undefined
  readonly identity: "document" | "registration" | undefined
}

/** Finds the client for a login. Fails where the authorization server lets none in that nobody has registered by hand. */
export const findClient = Effect.fnUntraced(function* (
  place: IssuerPlace,
  { given, identity, publicUrl, redirectUri }: ClientWish,
  outbound: Outbound["Type"]
): Effect.fn.Return<LoginClient, GrantRefused> {
  if (given !== undefined) return { identity: "given", ...given }
  const { client_id_metadata_document_supported, registration_endpoint } = place.document
  const document = clientDocument(publicUrl)
  const takesDocument = client_id_metadata_document_supported === true && document !== undefined
  if (takesDocument && identity !== "registration") return { identity: "document", id: String(document["client_id"]) }
  if (registration_endpoint !== null && identity !== "document") {
    const endpoint = safeUrl(registration_endpoint)
    if (endpoint === undefined) return yield* refused(`${place.endpoint.host} registers clients at an unsafe address.`)
    return yield* register(endpoint, place, redirectUri, outbound)
  }
  return yield* refused(
    `${new URL(place.issuer).host} ${ways(identity)}. Register a client there with the redirect address ${redirectUri}, and give its client_id.`
  )
})

const ways = (identity: ClientWish["identity"]): string => {
  if (identity === "document") return "takes no client ID document of this installation"
  if (identity === "registration") return "registers no clients"
  return "takes no client ID document of this installation and registers no clients"
}

const refused = (message: string) => new GrantRefused({ reason: "unexpected_answer", message })

const Registered = Schema.Struct({
  client_id: Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{1,2000}$/)),
  client_secret: Schema.optional(Schema.Unknown),
  token_endpoint_auth_method: Schema.optional(Schema.Unknown)
})

/** The refusals that RFC 7591 names. Another word may be anything, so nobody is told of it. */
const Refusal = Schema.Struct({
  error: Schema.Literal(
    "invalid_redirect_uri",
    "invalid_client_metadata",
    "invalid_software_statement",
    "unapproved_software_statement",
    "access_denied",
    "invalid_token"
  )
})

const secretWays: ReadonlyArray<string> = ["client_secret_basic", "client_secret_post"]

/** The way to prove itself that the client asks for. A client of a public program has no secret, where that is taken. */
const methodFor = ({ methods }: IssuerPlace): string =>
  ["none", ...secretWays].find((way) => methods?.includes(way) ?? false) ?? "none"

const register = Effect.fnUntraced(function* (
  endpoint: URL,
  place: IssuerPlace,
  redirectUri: string,
  outbound: Outbound["Type"]
) {
  const body = JSON.stringify({
    client_name: clientName,
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: methodFor(place),
    // Without it some take a loopback address for that of a web page.
    application_type: isLoopback(hostOf(new URL(redirectUri))) ? "native" : "web"
  })
  const headers = { accept: "application/json", "content-type": "application/json" }
  const asked = outbound.fetch(endpoint.href, { method: "POST", headers, body }, grantLimits)
  const answer = yield* Effect.mapError(asked, unasked)
  const found = answer.status === 200 || answer.status === 201 ? readRegistered(answer.body) : Option.none()
  if (Option.isNone(found)) return yield* refusalOf(endpoint, answer)
  const { client_id, client_secret, token_endpoint_auth_method } = found.value
  // Some give a secret to a client that has asked for none, and take it in no way that they name.
  const takesSecret =
    token_endpoint_auth_method !== "none" && place.methods?.some((way) => secretWays.includes(way)) === true
  const secret = takesSecret && typeof client_secret === "string" && client_secret !== "" ? client_secret : undefined
  const client: LoginClient = { identity: "registration", id: client_id, secret }
  return client
})

const readRegistered = readJson(Registered)
const readRefusal = readJson(Refusal)

const refusalOf = ({ host }: URL, { body, status }: OutboundAnswer): GrantRefused => {
  const said = Option.match(readRefusal(body), { onNone: () => String(status), onSome: ({ error }) => error })
  if (status === 429) return new GrantRefused({ reason: "rate_limited", message: `${host} was asked too often.` })
  if (status >= 500) return new GrantRefused({ reason: "upstream_error", message: `${host} failed (${said}).` })
  return refused(
    `${host} does not register this installation as a client (${said}). Register one there by hand, and give its client_id.`
  )
}
