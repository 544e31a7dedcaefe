import { hash, randomBytes } from "node:crypto"
import type { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect } from "effect"
import { GrantRefused } from "../grants/Grant.js"
import { findLoginPlace, safeUrl } from "../grants/TokenPlaces.js"
import type { LoginReach } from "./ConnectionLogin.js"
import type { LoginPlan, LoginSecrets } from "./ConnectionLoginStore.js"
import { type ClientWish, findClient } from "./LoginClient.js"

/** A login before it is written down. */
export interface PlannedLogin {
  readonly plan: LoginPlan
  readonly secrets: LoginSecrets
  /** The address for the browser. `state` comes back with it. */
  readonly authorizeUrl: (state: string) => string
}

/** The connection that somebody wants. Scopes are a text with a space between two. */
interface WantedConnection {
  /** Those that a person has named. */
  readonly given: string | undefined
  readonly reach: LoginReach
  /** Those that the connection has had so far. A new login keeps them. */
  readonly granted: string | undefined
}

const together = (one: string | undefined, other: string | undefined): string | undefined => {
  const all = new Set([one, other].flatMap((scopes) => scopes?.split(" ") ?? []))
  return all.size === 0 ? undefined : [...all].join(" ")
}

/** The way of PKCE that every server of tools has to take. */
const challengeMethod = "S256"
const longestScopes = 2000

/** Finds out how a person can log in to a server. Nothing secret is sent anywhere. */
export const planLogin = Effect.fnUntraced(function* (
  serverUrl: string,
  wanting: WantedConnection,
  wish: ClientWish,
  outbound: Outbound["Type"]
): Effect.fn.Return<PlannedLogin, GrantRefused> {
  const place = yield* findLoginPlace(serverUrl, outbound)
  const { document, endpoint, methods, resource, wanted } = place
  // Answers are compared with the name that the authorization server has for itself, character by character (RFC 9207).
  const { issuer } = document
  const { host } = new URL(issuer)
  const page = document.authorization_endpoint === null ? undefined : safeUrl(document.authorization_endpoint)
  if (page === undefined) return yield* refused(`${host} names no https address at which a person could log in.`)
  if (document.code_challenge_methods_supported?.includes(challengeMethod) !== true)
    return yield* refused(
      `${host} does not say that it takes PKCE with ${challengeMethod}, so a code could be stolen on its way.`
    )
  const client = yield* findClient(place, wish, outbound)
  const { given, granted, reach } = wanting
  const scopes = withRefresh(together(granted, given ?? wanted), document.scopes_supported)
  const verifier = randomBytes(48).toString("base64url")
  const plan: LoginPlan = {
    issuer,
    token_endpoint: endpoint.href,
    methods: methods ?? null,
    resource,
    client: client.identity,
    client_id: client.id,
    scopes: scopes ?? null,
    redirect_uri: wish.redirectUri,
    for: reach,
    names_itself: document.authorization_response_iss_parameter_supported === true
  }
  const authorizeUrl = (state: string): string => {
    const url = new URL(page)
    const parameters = {
      response_type: "code",
      client_id: client.id,
      redirect_uri: wish.redirectUri,
      code_challenge: hash("sha256", verifier, "base64url"),
      code_challenge_method: challengeMethod,
      state,
      resource,
      ...(scopes !== undefined && { scope: scopes }),
      // OpenID Connect gives no refresh token without a page that asks for it.
      ...(scopes?.split(" ").includes(offline) === true && { prompt: "consent" })
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }
  const secrets = { verifier, ...(client.secret !== undefined && { client_secret: client.secret }) }
  return { plan, secrets, authorizeUrl }
})

const offline = "offline_access"

/** The scopes with the one that gives a refresh token, where the authorization server has it. */
const withRefresh = (scopes: string | undefined, known: ReadonlyArray<string> | null): string | undefined =>
  scopes === undefined || known?.includes(offline) !== true || scopes.split(" ").includes(offline)
    ? scopes
    : `${scopes} ${offline}`.length > longestScopes
      ? scopes
      : `${scopes} ${offline}`

const refused = (message: string) => new GrantRefused({ reason: "unexpected_answer", message })
