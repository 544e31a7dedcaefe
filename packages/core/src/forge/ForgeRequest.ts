import { createHash } from "node:crypto"
import { Clock, Effect, Redacted, Schema } from "effect"
import { foreignWords } from "../base/ForeignWords.js"
import type { Outbound, OutboundAnswer, OutboundError } from "../outbound/Outbound.js"
import { type Ask, ForgeError, type ForgeKind, type MarkedAnswer, Refusal } from "./Forge.js"
import type { ForgeCall, ForgeLimit } from "./ForgeCalls.js"
import { below, isRedirect, type Moved, movedBy, pathNow } from "./ForgeRedirect.js"

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
  /** Gives the token in place of one that the forge has just refused, once for a call. Undefined when there is no other. */
  readonly renew?: (
    refused: Redacted.Redacted,
    answer: OutboundAnswer
  ) => Effect.Effect<Redacted.Redacted | undefined, ForgeError>
}

/** A page of 50 merge requests with their descriptions and repositories. */
const maxAnswerBytes = 16 * 1024 * 1024

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
    redirects = 0
  ): Effect.Effect<OutboundAnswer, ForgeError> =>
    Effect.flatMap(send(access, call, url, known), (answer) => {
      const location = isRedirect(answer.status) ? answer.headers.location : undefined
      if (location === undefined) return Effect.succeed(answer)
      const next = redirects === maxRedirects ? undefined : below(access.api, url, location)
      if (next === undefined) return Effect.fail(ledAway(access.api, url, location, answer.status))
      moved = movedBy(access.api, call, next) ?? moved
      return at(call, next, known, redirects + 1)
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
  return Object.assign((call: ForgeCall) => Effect.flatMap(begin(call), (answer) => answered(access, answer)), {
    marked: Effect.fnUntraced(function* (call: ForgeCall, known: string | undefined) {
      const answer = yield* begin(call, known)
      const limit = limitOf(answer.headers, yield* Clock.currentTimeMillis)
      if (answer.status === 304 && known !== undefined) return { answer: undefined, mark: known, limit }
      const body = yield* answered(access, answer)
      const mark = answer.headers.etag ?? `${digestMark}${createHash("sha256").update(answer.body).digest("hex")}`
      return { answer: mark === known ? undefined : { body }, mark, limit } satisfies MarkedAnswer
    }),
    text: Effect.fnUntraced(function* (call: ForgeCall) {
      const url = `${access.api}${pathNow(call.path, moved)}`
      const first = yield* send(access, call, url, undefined)
      const location = first.status === 302 || isRedirect(first.status) ? first.headers.location : undefined
      const answer =
        location === undefined
          ? first
          : below(access.api, url, location) === undefined
            ? yield* elsewhere(access, new URL(location, url))
            : yield* at(call, url, undefined)
      const failure = failureOf(new URL(access.api).host, answer, "")
      if (failure !== undefined) return yield* failure
      if (answer.status >= 300) return yield* new Refusal({ status: answer.status, said: "" })
      return answer.body
    })
  })
}

/** Reads what a forge keeps at another host. That host gets nothing of ours, and leads no further. */
const elsewhere = (access: ForgeAccess, url: URL) =>
  url.protocol === "https:" || url.protocol === new URL(access.api).protocol
    ? access.outbound.fetch(url.href, {}, { maxBytes: maxAnswerBytes }).pipe(Effect.mapError(unreached))
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

const send = (access: ForgeAccess, call: ForgeCall, url: string, known: string | undefined) =>
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
      { maxBytes: maxAnswerBytes, answersRedirects: true }
    )
    .pipe(Effect.mapError(unreached))

const answered = (access: ForgeAccess, answer: OutboundAnswer): Effect.Effect<unknown, ForgeError | Refusal> => {
  const name = new URL(access.api).host
  const said = saidBy(answer, Redacted.value(access.token))
  const failure = failureOf(name, answer, said)
  if (failure !== undefined) return Effect.fail(failure)
  if (answer.status >= 300) return Effect.fail(new Refusal({ status: answer.status, said }))
  return answer.body === "" ? Effect.succeed(undefined) : parse(name, answer.body)
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

const parse = (name: string, body: string): Effect.Effect<unknown, ForgeError> =>
  Effect.try({
    try: (): unknown => JSON.parse(body),
    catch: () =>
      new ForgeError({
        kind: "unavailable",
        message: `${name} answers with something that is no JSON: check the base URL of the connection.`
      })
  })

const failureOf = (name: string, answer: OutboundAnswer, said: string): ForgeError | undefined => {
  const words = said === "" ? "" : ` (${said})`
  const { headers, status } = answer
  if (status === 429 || (status === 403 && isLimit(headers))) {
    const retryAfterMs = pauseOf(headers)
    return new ForgeError({
      kind: "rate_limited",
      message: `${name} was asked too often: try again later.${words}`,
      ...(retryAfterMs !== undefined && { retryAfterMs })
    })
  }
  if (status === 401) {
    return new ForgeError({
      kind: "unauthenticated",
      message: `${name} does not accept the token: put a valid one in the connection.${words}`
    })
  }
  if (status === 403) {
    return new ForgeError({
      kind: "forbidden",
      message: `${name} does not let the token do this: use one with the permission to open and merge requests.${words}`
    })
  }
  return status >= 500 || status === 408 || status === 425
    ? new ForgeError({ kind: "unavailable", message: `${name} answers with ${status}: try again later.${words}` })
    : undefined
}

// GitHub answers with 403 when it is asked too often.
const isLimit = (headers: OutboundAnswer["headers"]): boolean =>
  headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"] === "0"

const longestPauseMs = 24 * 60 * 60_000

/** The milliseconds that the forge wants to be left alone, at most a day. */
const pauseOf = (headers: OutboundAnswer["headers"]): number | undefined => {
  const after = headers["retry-after"]
  if (after !== undefined && /^\d+$/.test(after)) return Math.min(longestPauseMs, Number(after) * 1000)
  const reset = limitOf(headers, Date.now())
  return reset === undefined ? undefined : Math.min(longestPauseMs, Math.max(0, reset.resetAt - Date.now()))
}

const Message = Schema.Struct({
  message: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.Unknown),
  error_description: Schema.optional(Schema.Unknown),
  scope: Schema.optional(Schema.Unknown),
  errors: Schema.optional(Schema.Unknown)
})

const Problem = Schema.Struct({
  resource: Schema.optional(Schema.String),
  field: Schema.optional(Schema.NullOr(Schema.String)),
  code: Schema.optional(Schema.Union(Schema.String, Schema.Number)),
  message: Schema.optional(Schema.NullOr(Schema.String))
})

const asProblem = Schema.decodeUnknownOption(Problem)

/** A problem as GitHub tells it, as in `PullRequest.base: invalid`. Undefined for what names neither a field nor a code. */
const problemText = (value: unknown): string | undefined => {
  const problem = asProblem(value)
  if (problem._tag === "None") return undefined
  const { code, field, message, resource } = problem.value
  if (field == null && code === undefined) return undefined
  const place = [resource, field].filter((part) => part != null && part !== "").join(".")
  // The code `custom` says that the message alone tells the problem.
  const kind = code === "custom" ? "" : (code ?? "")
  const words = [kind, message ?? ""].filter((part) => part !== "").join(": ")
  return place === "" || words === "" ? place + words : `${place}: ${words}`
}

const deepest = 5

const textsIn = (value: unknown, depth = 0): ReadonlyArray<string> => {
  if (typeof value === "string" || typeof value === "number") return [String(value)]
  if (depth > deepest || typeof value !== "object" || value === null) return []
  if (Array.isArray(value)) return value.flatMap((inner) => textsIn(inner, depth + 1))
  const problem = problemText(value)
  if (problem !== undefined) return [problem]
  return Object.entries(value).flatMap(([name, inner]) => {
    const texts = textsIn(inner, depth + 1)
    // GitLab names the field, as in {"message": {"base": ["is invalid"]}}.
    return name === "message" || name === "error" ? texts : texts.map((text) => `${name} ${text}`)
  })
}

const maxSaid = 1_000

const saidBy = ({ body, headers, status }: OutboundAnswer, token: string): string => {
  if (status < 300) return ""
  const told = Schema.decodeUnknownOption(Schema.parseJson(Message))(body)
  const plain = headers["content-type"]?.startsWith("text/plain") === true ? [body] : []
  const texts =
    told._tag === "None"
      ? plain
      : [told.value.message, told.value.error, told.value.error_description, told.value.errors]
          .flatMap((part) => textsIn(part))
          .concat(textsIn(told.value.scope).map((scope) => `scope ${scope}`))
  return foreignWords([...new Set(texts)].join("; ").replaceAll(token, "***"), maxSaid)
}
