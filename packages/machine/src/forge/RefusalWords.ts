import { readJson } from "@reins/base/base/ForeignJson"
import { bounded } from "@reins/base/base/ForeignText"
import { foreignWords } from "@reins/base/base/ForeignWords"
import type { Refused } from "@reins/base/base/RefusalTable"
import { Schema } from "effect"
import type { OutboundAnswer } from "../outbound/Outbound.js"

// Finds the words in the body of a refusal, wherever a forge has put them.

const Message = Schema.Struct({
  message: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.Unknown),
  error_description: Schema.optional(Schema.Unknown),
  scope: Schema.optional(Schema.Unknown),
  errors: Schema.optional(Schema.Unknown)
})

/** The statuses that the types of errors of GraphQL stand for. It answers them with 200. */
const statuses: Readonly<Record<string, number>> = {
  FORBIDDEN: 403,
  INSUFFICIENT_SCOPES: 403,
  NOT_FOUND: 404,
  RATE_LIMITED: 429,
  UNPROCESSABLE: 422,
  INTERNAL: 502,
  SERVICE_UNAVAILABLE: 503,
  TIMEOUT: 504
}

const Errors = Schema.Struct({ errors: Schema.NonEmptyArray(Schema.Unknown) })
const readErrors = Schema.decodeUnknownOption(Errors)
const readType = Schema.decodeUnknownOption(Schema.Struct({ type: Schema.String }))

/** The refusal in an answer of GraphQL; undefined for one without errors. An answer in part is none, because a part of it was not read. */
export const graphqlRefusal = (answer: OutboundAnswer, body: unknown, token: string): Refused | undefined => {
  const found = readErrors(body)
  if (found._tag === "None") return undefined
  const [first] = found.value.errors
  const typed = readType(first)
  const type = typed._tag === "Some" ? typed.value.type : ""
  const status = Object.hasOwn(statuses, type) ? (statuses[type] ?? 422) : 422
  return { status, headers: answer.headers, words: refusalWords(answer, token) }
}

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
const mostRead = 16_000

const readMessage = readJson(Message)

/** The words of a refusal with their fields and codes, on one line and without the token, which is empty where none is known. */
export const refusalWords = ({ body, headers }: OutboundAnswer, token: string): string => {
  const told = readMessage(body)
  const plain = headers["content-type"]?.startsWith("text/plain") === true ? [body] : []
  const texts =
    told._tag === "None"
      ? plain
      : [told.value.message, told.value.error, told.value.error_description, told.value.errors]
          .flatMap((part) => textsIn(part))
          .concat(textsIn(told.value.scope).map((scope) => `scope ${scope}`))
  const given = [...new Set(texts)].join("; ")
  const words = token === "" ? given : given.replaceAll(token, "***")
  return foreignWords(bounded(words, mostRead), maxSaid)
}
