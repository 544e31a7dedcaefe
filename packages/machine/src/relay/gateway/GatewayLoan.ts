import type { IncomingHttpHeaders } from "node:http"
import { Effect, Redacted } from "effect"
import type { LoanTerms } from "../Loans.js"
import { credentialFields, keysInQuery } from "../Presented.js"
import type { CallObserver } from "./ModelCall.js"

/** The part of a loan that its gateway has to do with. */
export interface GatewayTerms {
  readonly gateway: URL
  /** The key as the connection has it in this turn; undefined between turns. */
  key: Redacted.Redacted | undefined
  /** Watches the model calls of the borrower; undefined when nobody does. */
  observer: CallObserver | undefined
  /** The model calls under way. Their observer is told of their end before the loan has ended. */
  readonly calls: Set<{ readonly end: (how: "cut") => void }>
}

/** A credential lent to one agent, while a turn runs. */
export interface OpenLoan extends LoanTerms, Readonly<GatewayTerms> {
  readonly key: Redacted.Redacted
}

const withoutSlash = (path: string): string => path.replace(/(?<!\/)\/+$/, "")

/** The base that the borrower appends its paths to: that of the loan and the path of the gateway, without a trailing slash. */
export const pathOf = (path: string, gateway: URL): string => `${path}${withoutSlash(gateway.pathname)}`

/** Gives the terms a key until the scope closes. The observer watches the model calls of that time. */
export const open = (terms: GatewayTerms, key: Redacted.Redacted, observer?: CallObserver) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      terms.key = key
      terms.observer = observer
    }),
    () =>
      Effect.sync(() => {
        terms.key = undefined
        terms.observer = undefined
      })
  )

/** Ends the model calls that are under way, which tell their observer. Their answers are broken off by themselves. */
export const cutCalls = ({ calls }: GatewayTerms): void => {
  for (const call of calls) call.end("cut")
}

/** The field in whose place the query may hold the key. It goes on as this field, because a gateway logs the URLs that it is asked for. */
const queryField = "x-goog-api-key"

/** The fields in which a request presents its token, and in which the gateway gets the key. */
export const presentedFields = (headers: IncomingHttpHeaders, url: string): ReadonlyArray<string> => [
  ...[...credentialFields.keys()].filter((name) => headers[name] !== undefined),
  ...(keysInQuery(url).length > 0 ? [queryField] : [])
]

/** True for a segment that leads upwards, also on servers that cut a segment off at a semicolon. */
const leadsUp = (segment: string): boolean => /^\.{1,2}(?:;|$)/.test(segment)

const staysBelow = (path: string): boolean => !/\p{Cc}/u.test(path) && !path.split(/[/\\]/).some(leadsUp)

/**
 * True for a path that leads to the same place however often a server decodes it. Encoded slashes are allowed, because names of models have
 * some.
 */
const isPlain = (path: string): boolean => {
  if (path.includes("//")) return false
  let text = path
  for (let round = 0; round < 4; round++) {
    if (!staysBelow(text)) return false
    const before = text
    try {
      text = decodeURIComponent(text)
    } catch {
      return round > 0
    }
    if (text === before) return true
  }
  return false
}

/** The parts of a query as they stand, without the token as its `key`. */
const withoutKey = (query: string, token: Redacted.Redacted): string =>
  query
    .split("&")
    .filter((part) => part !== `key=${Redacted.value(token)}`)
    .join("&")

/**
 * The path and the query to ask the gateway for, without the token. Undefined for a request that does not stay below the gateway's base URL.
 */
export const targetOf = ({ gateway, path: begins, token }: OpenLoan, url: string): string | undefined => {
  const at = url.indexOf("?")
  const asked = at < 0 ? url : url.slice(0, at)
  const wanted = at < 0 ? "" : withoutKey(url.slice(at + 1), token)
  if (url.includes("#") || `${asked}?${wanted}`.includes(Redacted.value(token))) return undefined
  const path = pathOf(begins, gateway)
  const below = asked.slice(path.length)
  if (!asked.startsWith(path) || (below !== "" && !below.startsWith("/")) || !isPlain(below)) return undefined
  const query = [gateway.search.slice(1), wanted].filter((part) => part !== "").join("&")
  return `${withoutSlash(gateway.pathname)}${below}${query === "" ? "" : `?${query}`}`
}
