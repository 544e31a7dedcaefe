import { createHash } from "node:crypto"
import { foreignJson } from "@reins/base/base/ForeignJson"
import type { Refused } from "@reins/base/base/RefusalTable"
import { Clock, Effect, Redacted } from "effect"
import type { Outbound, OutboundAnswer, OutboundError, OutboundLimits } from "../outbound/Outbound.js"
import { type Ask, ForgeError, type ForgeKind, type MarkedAnswer, Refusal } from "./Forge.js"
import type { ForgeCall, ForgeLimit } from "./ForgeCalls.js"
import { below, isRedirect, type Moved, movedBy, pathNow } from "./ForgeRedirect.js"
import { forgeErrorKinds } from "./ForgeRefusalKinds.js"
import { commonRefusals, type ForgeRefusals, isOfToken, readForgeRefusal } from "./ForgeRefusals.js"
import { graphqlRefusal, refusalWords } from "./RefusalWords.js"

/** The means to ask one forge with one token. */
export interface ForgeAccess {
  /** The guarded way out of the service. */
  readonly outbound: Outbound["Type"]
  /** The root of the API, without a trailing slash. */
  readonly api: string
  /** The token, which is sent to this forge only. */
  readonly token: Redacted.Redacted
  /** The headers that carry the token. */
  readonly headers: ForgeKind["headers"]
  /** The refusals of the forge; those of every forge when absent. */
  readonly refusals?: ForgeRefusals
  /** Gives the token in place of one that the forge has just refused, once for a call. Undefined when there is no other. */
  readonly renew?: (
    refused: Redacted.Redacted,
    answer: OutboundAnswer
  ) => Effect.Effect<Redacted.Redacted | undefined, ForgeError>
}

/** A page of 50 merge requests with their descriptions and repositories. */
const maxAnswerBytes = 16 * 1024 * 1024

/** The end of a log, and the longest time for it. A log has times and colours, so more is kept than is shown. */
const logLimits = { tailBytes: 256 * 1024, timeoutMs: 20_000 }

/** The most redirects that one call follows. */
const maxRedirects = 5

/** Asks one forge with one token. It follows redirects below the root of the API, as they come for a repository that was renamed. */
export const askForge = (given: ForgeAccess): Ask => {
  let access = given
  // Some forges redirect reads alone, so what a read was told holds for the changes after it.
  let moved: Moved | undefined
  const at = (
    call: ForgeCall,
    url: string,
    known: string | undefined,
    limits: OutboundLimits = {},
    redirects = 0
  ): Effect.Effect<OutboundAnswer, ForgeError> =>
    Effect.flatMap(send(access, call, url, known, limits), (answer) => {
      const location = isRedirect(answer.status) ? answer.headers.location : undefined
      if (location === undefined) return Effect.succeed(answer)
      const root = call.graphql === true ? graphqlOf(access.api) : access.api
      const next = redirects === maxRedirects ? undefined : below(root, url, location)
      if (next === undefined) return Effect.fail(ledAway(access.api, url, location, answer.status))
      if (call.graphql !== true) moved = movedBy(access.api, call, next) ?? moved
      return at(call, next, known, limits, redirects + 1)
    })
  const once = (call: ForgeCall, known: string | undefined) =>
    Effect.suspend(() =>
      at(call, call.graphql === true ? graphqlOf(access.api) : `${access.api}${pathNow(call.path, moved)}`, known)
    )
  const begin = (call: ForgeCall, known?: string) =>
    Effect.flatMap(
      Effect.suspend(() => Effect.map(once(call, known), (answer) => ({ answer, refused: access.token }))),
      ({ answer, refused }) => {
        if (answer.status !== 401 || access.renew === undefined) return Effect.succeed(answer)
        return Effect.flatMap(access.renew(refused, answer), (token) => {
          if (token === undefined) return Effect.succeed(answer)
          access = { ...access, token }
          return once(call, known)
        })
      }
    )
  return Object.assign((call: ForgeCall) => Effect.flatMap(begin(call), (answer) => answered(access, call, answer)), {
    marked: Effect.fnUntraced(function* (call: ForgeCall, known: string | undefined) {
      const answer = yield* begin(call, known)
      const limit = limitOf(answer.headers, yield* Clock.currentTimeMillis)
      if (answer.status === 304 && known !== undefined)
        return { answer: undefined, mark: known, hasNext: undefined, limit }
      const body = yield* answered(access, call, answer)
      const mark = answer.headers.etag ?? `${digestMark}${createHash("sha256").update(answer.body).digest("hex")}`
      const hasNext = hasNextPage(answer.headers)
      return { answer: mark === known ? undefined : { body }, mark, hasNext, limit } satisfies MarkedAnswer
    }),
    text: Effect.fnUntraced(function* (call: ForgeCall) {
      const url = `${access.api}${pathNow(call.path, moved)}`
      const first = yield* send(access, call, url, undefined, logLimits)
      const location = first.status === 302 || isRedirect(first.status) ? first.headers.location : undefined
      const answer =
        location === undefined
          ? first
          : below(access.api, url, location) === undefined
            ? yield* elsewhere(access, new URL(location, url))
            : yield* at(call, url, undefined, logLimits)
      const refused = refusedIn(access, answer, yield* Clock.currentTimeMillis)
      if (refused !== undefined) return yield* refused
      return { text: answer.body, cut: answer.cut === true }
    })
  })
}

/** Reads what a forge keeps at another host. That host gets nothing of ours, and leads no further. */
const elsewhere = (access: ForgeAccess, url: URL) =>
  url.protocol === "https:" || url.protocol === new URL(access.api).protocol
    ? access.outbound.fetch(url.href, {}, logLimits).pipe(Effect.mapError(unreached))
    : Effect.fail(
        new ForgeError({
          kind: "rejected",
          message: "The forge keeps it at an address without TLS, which is not asked."
        })
      )

/** The beginning of the mark of an answer that came without an ETag. */
const digestMark = "sha256:"

/** GitHub has it beside `/api/v3` on a host of its own, and below the root of its API in its cloud. */
const graphqlOf = (api: string): string => `${api.replace(/\/v3$/, "")}/graphql`

const limitOf = (headers: OutboundAnswer["headers"], nowMs: number): ForgeLimit | undefined => {
  const given = (name: string): number => {
    const value = headers[`x-ratelimit-${name}`] ?? headers[`ratelimit-${name}`]
    return typeof value === "string" && /^\d{1,12}$/.test(value.trim()) ? Number(value) : Number.NaN
  }
  const [limit, remaining, reset] = [given("limit"), given("remaining"), given("reset")]
  if (Number.isNaN(limit) || Number.isNaN(remaining)) return undefined
  // Some give the seconds since 1970, and some the seconds that are left.
  const resetAt = Number.isNaN(reset) ? nowMs + 60_000 : reset > 1_000_000_000 ? reset * 1000 : nowMs + reset * 1000
  return { limit, remaining, resetAt }
}

/** All forges name the pages of a list in one header. It is absent where a list has one page alone, and of some lists. */
const hasNextPage = ({ link }: OutboundAnswer["headers"]): boolean | undefined =>
  typeof link === "string" ? link.split(",").some((part) => part.includes('rel="next"')) : undefined

const send = (
  access: ForgeAccess,
  call: ForgeCall,
  url: string,
  known: string | undefined,
  limits: OutboundLimits = {}
) =>
  access.outbound
    .fetch(
      url,
      {
        method: call.method,
        headers: {
          "user-agent": "reins",
          ...access.headers(Redacted.value(access.token)),
          ...(known !== undefined && !known.startsWith(digestMark) && { "if-none-match": known }),
          ...(call.body !== undefined && { "content-type": "application/json" })
        },
        ...(call.body !== undefined && { body: JSON.stringify(call.body) })
      },
      { maxBytes: maxAnswerBytes, answersRedirects: true, ...limits }
    )
    .pipe(Effect.mapError(unreached))

const answered = Effect.fnUntraced(function* (
  access: ForgeAccess,
  call: ForgeCall,
  answer: OutboundAnswer
): Effect.fn.Return<unknown, ForgeError | Refusal> {
  const nowMs = yield* Clock.currentTimeMillis
  const refused = refusedIn(access, answer, nowMs)
  if (refused !== undefined) return yield* refused
  if (answer.body === "") return undefined
  const body = yield* parse(new URL(access.api).host, answer)
  const problem = call.graphql === true ? graphqlRefusal(answer, body, Redacted.value(access.token)) : undefined
  return problem === undefined ? body : yield* readRefusal(access, problem, nowMs)
})

/** The refusal that an answer is; undefined for one that is none. */
const refusedIn = (access: ForgeAccess, answer: OutboundAnswer, nowMs: number): ForgeError | Refusal | undefined => {
  const { headers, status } = answer
  if (status < 300) return undefined
  const words = refusalWords(answer, Redacted.value(access.token))
  return readRefusal(access, { status, headers, words }, nowMs)
}

const readRefusal = ({ api, refusals = commonRefusals }: ForgeAccess, refused: Refused, nowMs: number) => {
  const { kind, say, waitMs } = readForgeRefusal(refusals)(refused, nowMs)
  const { status, words: said } = refused
  const retry = waitMs === null ? {} : { retryAfterMs: waitMs }
  if (!isOfToken(kind)) return new Refusal({ status, said, kind, say, ...retry })
  const told = said === "" ? `HTTP ${status}` : `HTTP ${status}: ${said}`
  return new ForgeError({ kind: forgeErrorKinds[kind], message: `${new URL(api).host} ${say} (${told})`, ...retry })
}

const unreached = (error: OutboundError): ForgeError =>
  error.kind === "refused_address" || error.kind === "tls"
    ? new ForgeError({
        kind: "rejected",
        message: `${error.message} Check the base URL of the connection and the URL of the repository.`
      })
    : new ForgeError({ kind: "unavailable", message: error.message })

const ledAway = (api: string, url: string, location: string, status: number): ForgeError => {
  const [from, to] = [new URL(api).host, URL.canParse(location, url) ? new URL(location, url).host : ""]
  const place = to === "" || to === from ? "to a place outside of its API" : `to ${to}`
  return new ForgeError({
    kind: "rejected",
    message:
      `${from} redirects ${place} (HTTP ${status}), where the token is not sent: use the present URL of the repository, ` +
      "and a connection whose base URL is that of the forge there."
  })
}

const parse = (name: string, { body }: OutboundAnswer): Effect.Effect<unknown, ForgeError> => {
  const value = foreignJson(body)
  if (value !== undefined) return Effect.succeed(value)
  return Effect.fail(
    new ForgeError({
      kind: "unavailable",
      message: body.trimStart().startsWith("<")
        ? `${name} answers with a page for people where its API should be: check the base URL of the connection.`
        : `${name} answers with something that is no JSON, so nothing is taken from it.`
    })
  )
}
