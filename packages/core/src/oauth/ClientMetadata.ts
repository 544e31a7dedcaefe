import { cutText } from "@reins/base/base/CutText"
import { Effect } from "effect"
import { OauthRefused } from "./OauthRefused.js"
import { isAppRedirect, mostRedirects } from "./Redirects.js"

/** An app that asks for access. */
export interface OauthClient {
  /** The URL of its document, or the id that a registration gave it. */
  readonly id: string
  /** The name that it gives itself. */
  readonly name: string
  /** The host of its document, which proves where it comes from; null for a registration, which proves nothing. */
  readonly host: string | null
  readonly redirectUris: ReadonlyArray<string>
}

const longestName = 80

/** Control and format characters, with which a name could turn around or hide the words beside it. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]+/gu

/** The name of an app for people. It is text of a stranger. */
export const nameOf = (given: unknown): string => {
  const name =
    typeof given === "string" ? cutText(given, 1000).replaceAll(unseen, " ").replaceAll(/\s+/g, " ").trim() : ""
  return cutText(name, longestName).trim() || "An app without a name"
}

/**
 * The words of an app about itself, in a registration (RFC 7591) or a document. Unknown members are passed over. Addresses are read one by one: those
 * that `isAppRedirect` refuses are left out. Fails for an app without any other.
 */
export const readMetadata = (
  given: unknown
): Effect.Effect<Pick<OauthClient, "name" | "redirectUris">, OauthRefused> => {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    return refuse("invalid_client_metadata", "The metadata of a client is a JSON object.")
  const { client_name, grant_types, redirect_uris, response_types }: Readonly<Record<string, unknown>> = { ...given }
  if (!lists(grant_types, "authorization_code"))
    return refuse("invalid_client_metadata", "Only the grant types authorization_code and refresh_token are served.")
  if (!lists(response_types, "code")) return refuse("invalid_client_metadata", "Only the response type code is served.")
  if (!Array.isArray(redirect_uris) || redirect_uris.length === 0 || redirect_uris.length > mostRedirects)
    return refuse("invalid_redirect_uri", `redirect_uris is a list of 1 to ${mostRedirects} addresses.`)
  const kept = redirect_uris.filter((one: unknown) => typeof one === "string" && isAppRedirect(one))
  return kept.length === 0
    ? refuse("invalid_redirect_uri", "An address is https, a loopback address, or the scheme of an app.")
    : Effect.succeed({ name: nameOf(client_name), redirectUris: [...new Set(kept)] })
}

/** Absent lists have the defaults of RFC 7591, which this server has too. */
const lists = (given: unknown, needed: string): boolean =>
  given === undefined || given === null || (Array.isArray(given) && given.includes(needed))

const refuse = (error: OauthRefused["error"], description: string) =>
  Effect.fail(new OauthRefused({ error, description }))
