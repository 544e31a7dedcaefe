import { Effect } from "effect"
import { type AppScope, appScopes } from "./OauthGrant.js"
import { OauthRefused } from "./OauthRefused.js"

/** The request of an app to a person, before it is known who the app is. */
export interface AuthorizationRequest {
  readonly clientId: string
  readonly redirectUri: string
  readonly challenge: string
  readonly state: string | null
  /** The most that the person can give: the scopes that the app asks for. */
  readonly scopes: ReadonlyArray<AppScope>
}

const longestState = 2000

/** The scopes of an app that names none. */
const defaultScopes: ReadonlyArray<AppScope> = ["read", "act"]

/** True for the audience of this server. Clients write it with and without a slash at the end. */
export const isResource = (given: string, resource: string): boolean => given === resource || given === `${resource}/`

/**
 * Reads the query of an authorization request. Fails for one without PKCE by S256 (RFC 7636), for another resource (RFC 8707), and for a parameter that
 * comes twice. Scopes that no app can have are left out.
 */
export const readRequest = (
  query: URLSearchParams,
  resource: string
): Effect.Effect<AuthorizationRequest, OauthRefused> => {
  const repeated = [...new Set(query.keys())].some((name) => name !== "resource" && query.getAll(name).length > 1)
  if (repeated) return refuse("invalid_request", "A parameter comes twice.")
  if (query.has("request") || query.has("request_uri"))
    return refuse("invalid_request", "Requests are taken as parameters of the query alone.")
  const clientId = query.get("client_id") ?? ""
  const redirectUri = query.get("redirect_uri") ?? ""
  if (clientId === "" || redirectUri === "") return refuse("invalid_request", "client_id and redirect_uri are needed.")
  if (query.get("response_type") !== "code")
    return refuse("unsupported_response_type", "Only the response type code is served.")
  if ((query.get("response_mode") ?? "query") !== "query")
    return refuse("invalid_request", "Only the response mode query is served.")
  const challenge = query.get("code_challenge") ?? ""
  if (query.get("code_challenge_method") !== "S256" || !/^[A-Za-z0-9_-]{43}$/.test(challenge))
    return refuse("invalid_request", "PKCE with a code_challenge by S256 is needed.")
  const state = query.get("state")
  if (state !== null && state.length > longestState) return refuse("invalid_request", "The state is too long.")
  if (!query.getAll("resource").every((one) => isResource(one, resource)))
    return refuse("invalid_target", `The only resource of this server is ${resource}.`)
  return Effect.succeed({ clientId, redirectUri, challenge, state, scopes: scopesOf(query.get("scope")) })
}

/** The scopes that an app asks for: the known ones of a text with those that they include, or the default. */
const scopesOf = (given: string | null): ReadonlyArray<AppScope> => {
  const named = knownScopes(given ?? "")
  return named.length === 0 ? defaultScopes : named
}

/** The known scopes of a text, with those that they include. Words of other servers, as `offline_access`, are left out. */
export const knownScopes = (given: string): ReadonlyArray<AppScope> => {
  const named = given.split(" ")
  const highest = appScopes.findLast((scope) => named.includes(scope))
  return highest === undefined ? [] : scopesUpTo(highest)
}

/** A scope with those that it includes. */
export const scopesUpTo = (highest: AppScope): ReadonlyArray<AppScope> =>
  appScopes.slice(0, appScopes.indexOf(highest) + 1)

const refuse = (error: OauthRefused["error"], description: string) =>
  Effect.fail(new OauthRefused({ error, description }))
