import { randomBytes, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import { Effect, Redacted } from "effect"
import * as Token from "../secrets/Token.js"

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
}

/** A loan while a turn runs. */
export interface OpenLoan extends Loan {
  /** The key as the connection has it in this turn. */
  readonly key: Redacted.Redacted
}

/** A loan in the list of all, with its key while it is open. */
interface Listed extends Loan {
  key: Redacted.Redacted | undefined
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
      const loan: Listed = { id, path, gateway, token, key: undefined, answers: new Set() }
      loans.set(id, loan)
      return loan
    }),
    (loan) =>
      Effect.sync(() => {
        loans.delete(loan.id)
        close(loan)
      })
  )

/** Makes the token of a loan good for a key until the scope closes. */
export const open = (loan: Listed, key: Redacted.Redacted) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      loan.key = key
    }),
    () => Effect.sync(() => close(loan))
  )

const close = (loan: Listed): void => {
  loan.key = undefined
  for (const answer of loan.answers) answer.destroy()
}

/** The header fields in which a provider may expect its key, with the form of the key in each. */
export const credentialFields: ReadonlyMap<string, (key: string) => string> = new Map([
  ["authorization", (key: string) => `Bearer ${key}`],
  ["x-api-key", (key: string) => key],
  ["api-key", (key: string) => key]
])

const same = (given: string, token: string): boolean => {
  const [left, right] = [Buffer.from(given), Buffer.from(token)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** True when a request presents the loan's token and no other credential. */
const presents = (headers: IncomingHttpHeaders, { token }: Loan): boolean => {
  const given = [...credentialFields.keys()].flatMap((name) => {
    const value = headers[name]
    if (value === undefined) return []
    return name === "authorization" ? [/^Bearer +(\S+)$/i.exec(String(value))?.[1] ?? ""] : [String(value)]
  })
  return given.length > 0 && given.every((value) => same(value, Redacted.value(token)))
}

/** The loan that the URL names, if a turn has opened it and the request presents its token. */
export const find = (loans: Loans, url: string, headers: IncomingHttpHeaders): OpenLoan | undefined => {
  const loan = loans.get(/^\/([0-9a-f]+)(?=[/?]|$)/.exec(url)?.[1] ?? "")
  if (loan?.key === undefined || !presents(headers, loan)) return undefined
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

/** The path and the query to ask the gateway for. Undefined for a request that does not stay below the gateway's base URL. */
export const targetOf = ({ gateway, path, token }: Loan, url: string): string | undefined => {
  if (url.includes("#") || url.includes(Redacted.value(token))) return undefined
  const at = url.indexOf("?")
  const asked = at < 0 ? url : url.slice(0, at)
  const below = asked.slice(path.length)
  if (!asked.startsWith(path) || (below !== "" && !below.startsWith("/")) || !isPlain(below)) return undefined
  const query = [gateway.search.slice(1), at < 0 ? "" : url.slice(at + 1)].filter((part) => part !== "").join("&")
  return `${withoutSlash(gateway.pathname)}${below}${query === "" ? "" : `?${query}`}`
}
