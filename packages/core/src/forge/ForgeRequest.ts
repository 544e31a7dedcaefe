import { Effect, Redacted, Schema } from "effect"
import type { Outbound, OutboundAnswer, OutboundError } from "../outbound/Outbound.js"
import { type Ask, ForgeError, type ForgeKind, Refusal } from "./Forge.js"

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
}

/** A page of 50 merge requests with their descriptions and repositories. */
const maxAnswerBytes = 16 * 1024 * 1024

/** Asks one forge with one token. */
export const ask =
  (access: ForgeAccess): Ask =>
  (call) => {
    const token = Redacted.value(access.token)
    const name = new URL(access.api).host
    return access.outbound
      .fetch(
        `${access.api}${call.path}`,
        {
          method: call.method,
          headers: {
            "user-agent": "reins",
            ...access.headers(token),
            ...(call.body !== undefined && { "content-type": "application/json" })
          },
          ...(call.body !== undefined && { body: JSON.stringify(call.body) })
        },
        { maxBytes: maxAnswerBytes }
      )
      .pipe(
        Effect.mapError(unreached),
        Effect.flatMap((answer): Effect.Effect<unknown, ForgeError | Refusal> => {
          const said = saidBy(answer, token)
          const failure = failureOf(name, answer, said)
          if (failure !== undefined) return Effect.fail(failure)
          if (answer.status >= 400) return Effect.fail(new Refusal({ status: answer.status, said }))
          return answer.body === "" ? Effect.succeed(undefined) : parse(name, answer.body)
        })
      )
  }

const unreached = (error: OutboundError): ForgeError =>
  error.kind === "refused_address" || error.kind === "redirect"
    ? new ForgeError({
        kind: "rejected",
        message: `${error.message} Check the base URL of the connection and the URL of the repository.`
      })
    : new ForgeError({ kind: "unavailable", message: error.message })

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
    return new ForgeError({ kind: "rate_limited", message: `${name} was asked too often: try again later.${words}` })
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
  return status >= 500
    ? new ForgeError({ kind: "unavailable", message: `${name} answers with ${status}: try again later.${words}` })
    : undefined
}

// GitHub answers with 403 when it is asked too often.
const isLimit = (headers: OutboundAnswer["headers"]): boolean =>
  headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"] === "0"

const Message = Schema.Struct({
  message: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.Unknown),
  errors: Schema.optional(Schema.Unknown)
})

const textsIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const texts = textsIn(inner)
    // GitLab names the field, as in {"message": {"base": ["is invalid"]}}; GitHub puts the words beside codes.
    return name === "message" || name === "error"
      ? texts
      : Array.isArray(inner)
        ? texts.map((text) => `${name} ${text}`)
        : []
  })
}

const saidBy = (answer: OutboundAnswer, token: string): string => {
  if (answer.status < 400) return ""
  const body = Schema.decodeUnknownOption(Schema.parseJson(Message))(answer.body)
  const texts = body._tag === "Some" ? [body.value.message, body.value.error, body.value.errors].flatMap(textsIn) : []
  return [...new Set(texts)]
    .join("; ")
    .replaceAll(token, "***")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, 400)
}
