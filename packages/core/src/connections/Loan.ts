import { randomBytes, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import { Effect, Redacted } from "effect"
import * as Token from "../secrets/Token.js"
import type { CallObserver } from "./ModelCall.js"

/** A credential lent to one agent, for as long as its process lives. Its token is good only while a turn has opened it. */
export interface Loan {
  /** Names the loan in the URL. It is no secret. */
  readonly id: string
  /** The base that the borrower appends its paths to: the id of the loan and the path of the gateway, without a trailing slash. */
  readonly path: string
  readonly gateway: URL
  readonly token: Redacted.Redacted
  /** The answers under way, which break off when the turn ends. */
  readonly answers: Set<ServerResponse>
  /** Watches the model calls of the borrower; undefined when nobody does. */
  readonly observer: CallObserver | undefined
  /** The model calls under way. Their observer is told of their end before the loan has ended. */
  readonly calls: Set<{ readonly end: (how: "cut") => void }>
}

/** A loan while a turn runs. */
export interface OpenLoan extends Loan {
  /** The key as the connection has it in this turn. */
  readonly key: Redacted.Redacted
}

/** A loan in the list of all, with its key while it is open. */
interface Listed extends Loan {
  key: Redacted.Redacted | undefined
  observer: CallObserver | undefined
}

/** The loans that have not ended, by id. */
export type Loans = Map<string, Listed>

const withoutSlash = (path: string): string => path.replace(/\/+$/, "")

/** Makes a loan that lives until the scope closes. Its token is not good yet. */
export const make = (loans: Loans, gateway: URL) =>
  Effect.acquireRelease(
    Effect.map(Token.random, (token) => {
      const id = randomBytes(12).toString("hex")
      const path = `/${id}${withoutSlash(gateway.pathname)}`
      const loan: Listed = {
        id,
        path,
        gateway,
        token,
        key: undefined,
        answers: new Set(),
        observer: undefined,
        calls: new Set()
      }
      loans.set(id, loan)
      return loan
    }),
    (loan) =>
      Effect.sync(() => {
        loans.delete(loan.id)
        close(loan)
      })
  )

/** Makes the token of a loan good for a key until the scope closes. The observer watches the model calls of that time. */
export const openLoan = (loan: Listed, key: Redacted.Redacted, observer?: CallObserver) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      loan.key = key
      loan.observer = observer
    }),
    () => Effect.sync(() => close(loan))
  )

const close = (loan: Listed): void => {
  loan.key = undefined
  // Their observer hears of the end of model calls now. Their answers are broken off by themselves.
  for (const call of loan.calls) call.end("cut")
  for (const answer of loan.answers) answer.destroy()
  loan.observer = undefined
}

/** The header fields in which a provider may expect its key, with the form of the key in each. */
export const credentialFields: ReadonlyMap<string, (key: string) => string> = new Map([
  ["authorization", (key: string) => `Bearer ${key}`],
  ["x-api-key", (key: string) => key],
  ["api-key", (key: string) => key],
  ["x-goog-api-key", (key: string) => key]
])

/** The field in whose place the query may hold the key. It goes on as this field, because a gateway logs the URLs that it is asked for. */
const queryField = "x-goog-api-key"

/** The values of `key` in the query of a URL. */
const keysInQuery = (url: string): ReadonlyArray<string> => {
  const at = url.indexOf("?")
  return at < 0 ? [] : new URLSearchParams(url.slice(at + 1)).getAll("key")
}

/** The fields in which a request presents its token, and in which the gateway gets the key. */
export const presentedFields = (headers: IncomingHttpHeaders, url: string): ReadonlyArray<string> => [
  ...[...credentialFields.keys()].filter((name) => headers[name] !== undefined),
  ...(keysInQuery(url).length > 0 ? [queryField] : [])
]

const same = (given: string, token: string): boolean => {
  const [left, right] = [Buffer.from(given), Buffer.from(token)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** True when a request presents the loan's token and no other credential. */
const presents = (headers: IncomingHttpHeaders, url: string, { token }: Loan): boolean => {
  const inHeaders = [...credentialFields.keys()].flatMap((name) => {
    const value = headers[name]
    if (value === undefined) return []
    return name === "authorization" ? [/^Bearer +(\S+)$/i.exec(String(value))?.[1] ?? ""] : [String(value)]
  })
  const given = [...inHeaders, ...keysInQuery(url)]
  return given.length > 0 && given.every((value) => same(value, Redacted.value(token)))
}

/** The loan that the URL names, if a turn has opened it and the request presents its token. */
export const findLoan = (loans: Loans, url: string, headers: IncomingHttpHeaders): OpenLoan | undefined => {
  const loan = loans.get(/^\/([0-9a-f]+)(?=[/?]|$)/.exec(url)?.[1] ?? "")
  if (loan?.key === undefined || !presents(headers, url, loan)) return undefined
  return { ...loan, key: loan.key }
}

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
export const targetOf = ({ gateway, path, token }: Loan, url: string): string | undefined => {
  const at = url.indexOf("?")
  const asked = at < 0 ? url : url.slice(0, at)
  const wanted = at < 0 ? "" : withoutKey(url.slice(at + 1), token)
  if (url.includes("#") || `${asked}?${wanted}`.includes(Redacted.value(token))) return undefined
  const below = asked.slice(path.length)
  if (!asked.startsWith(path) || (below !== "" && !below.startsWith("/")) || !isPlain(below)) return undefined
  const query = [gateway.search.slice(1), wanted].filter((part) => part !== "").join("&")
  return `${withoutSlash(gateway.pathname)}${below}${query === "" ? "" : `?${query}`}`
}
