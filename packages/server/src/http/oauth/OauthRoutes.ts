import { once } from "@reins/base/base/Once"
import { Authorizations } from "@reins/core/oauth/Authorizations"
import { OauthClients } from "@reins/core/oauth/OauthClients"
import { OauthRefused } from "@reins/core/oauth/OauthRefused"
import { OauthTokens } from "@reins/core/oauth/OauthTokens"
import { Effect, Schema } from "effect"
import { refusalOfType } from "../BodyType.js"
import type { Exchange } from "../Exchange.js"
import { Authentication } from "../middleware/Authentication.js"
import { readBody } from "../middleware/BodyLimit.js"
import { readForm } from "../pages/Forms.js"
import { Reply } from "../Reply.js"
import type { Failure, Route } from "../Route.js"
import { metadataRoutes } from "./Metadata.js"

/** The longest registration, in bytes. */
const mostBytes = 16 * 1024

/**
 * The addresses of OAuth 2.1: what apps read of this server, where they register, and where they get tokens. They are no operations of the API. The page
 * on which a person decides is loaded with its first request.
 */
export const oauthRoutes = Effect.gen(function* () {
  const authentication = yield* Authentication
  const { issuer, resource } = yield* Authorizations
  const clients = yield* OauthClients
  const tokens = yield* OauthTokens
  const context = yield* Effect.context<PageServices>()
  const page = yield* once(Effect.provide(consentPage, context))

  const register = Effect.fnUntraced(function* (exchange: Exchange) {
    yield* authentication.admitAnybody(exchange, false)
    const refusal = refusalOfType(exchange)
    if (refusal !== undefined) return yield* refusal
    const body = yield* readBody(exchange, mostBytes)
    const metadata = yield* Effect.try({ try: (): unknown => JSON.parse(body.toString("utf8")), catch: () => notJson })
    return Reply.json(201, yield* clients.register(metadata, exchange))
  })

  const token = Effect.fnUntraced(function* (exchange: Exchange) {
    const fields = yield* formOf(exchange)
    const field = (name: string) => fields.get(name) ?? undefined
    const answer = yield* tokens.issue({
      grant_type: field("grant_type"),
      client_id: field("client_id"),
      code: field("code"),
      redirect_uri: field("redirect_uri"),
      code_verifier: field("code_verifier"),
      refresh_token: field("refresh_token"),
      scope: field("scope"),
      resource: field("resource")
    })
    return Reply.json(200, answer)
  })

  const revoke = Effect.fnUntraced(function* (exchange: Exchange) {
    const fields = yield* formOf(exchange)
    const [given, clientId] = [fields.get("token"), fields.get("client_id")]
    if (given === null || clientId === null) return yield* needsBoth
    yield* tokens.revoke({ token: given, clientId })
    return new Reply(200)
  })

  /** A form of an app. A field that comes twice could be read in two ways. */
  const formOf = (exchange: Exchange) =>
    authentication.admitAnybody(exchange, false).pipe(
      Effect.zipRight(readForm(exchange)),
      Effect.filterOrFail(
        (fields) => [...fields.keys()].length === new Set(fields.keys()).size,
        () => repeated
      )
    )

  return [
    ...metadataRoutes(issuer, resource),
    change("/oauth/register", register),
    change("/oauth/token", token),
    change("/oauth/revoke", revoke),
    ...pageRoutesOf(page)
  ] satisfies ReadonlyArray<Route>
})

const consentPage = Effect.flatMap(
  Effect.promise(() => import("../pages/ConsentPage.js")),
  ({ consentPage }) => consentPage
)

type PageServices = Effect.Effect.Context<typeof consentPage>

type Page = Effect.Effect.Success<typeof consentPage>

const pageRoutesOf = (page: Effect.Effect<Page>): ReadonlyArray<Route> => [
  {
    method: "GET",
    path: "/oauth/authorize",
    mutates: false,
    answer: (exchange) => Effect.flatMap(page, ({ show }) => show(exchange))
  },
  {
    method: "POST",
    path: "/oauth/authorize",
    mutates: true,
    answer: (exchange) => Effect.flatMap(page, ({ decide }) => decide(exchange))
  },
  {
    method: "POST",
    path: "/oauth/login",
    mutates: true,
    answer: (exchange) => Effect.flatMap(page, ({ logIn }) => logIn(exchange))
  }
]

const change = (
  path: Route["path"],
  answer: (exchange: Exchange) => Effect.Effect<Reply, Failure | OauthRefused>
): Route => ({
  method: "POST",
  path,
  mutates: true,
  answer: (exchange) =>
    Effect.catchIf(
      answer(exchange),
      (error) => error instanceof OauthRefused,
      (refused) => Effect.succeed(refusalReply(refused))
    ),
  inItsForm
})

/** The answer to a refusal, as RFC 6749, 5.2 has it. */
const refusalReply = ({ description, error, retryAfterSeconds }: OauthRefused): Reply =>
  Reply.json(
    retryAfterSeconds === undefined ? 400 : 429,
    { error, error_description: description },
    retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }
  )

/** A failure of the server itself, as a refusal of OAuth. It keeps its status and its headers. */
const inItsForm = ({ body, headers, status }: Reply): Reply => {
  const told: Readonly<Record<string, unknown>> = typeof body === "string" ? JSON.parse(body) : {}
  const { message } = isEnvelope(told) ? told.error : { message: "The request cannot be read." }
  return Reply.json(
    status,
    { error: codeOf(status), error_description: message.replaceAll(notDescribed, "'") },
    headers
  )
}

const isEnvelope = Schema.is(Schema.Struct({ error: Schema.Struct({ message: Schema.String }) }))

/** RFC 6749 has no code of its own for what passes at the token address, so clients read that of 4.1.2.1. */
const codeOf = (status: number): string => {
  if (status === 429 || status === 503) return "temporarily_unavailable"
  return status >= 500 ? "server_error" : "invalid_request"
}

/** The characters that a description may not have. */
const notDescribed = /[^\x20-\x21\x23-\x5b\x5d-\x7e]/g

const notJson = new OauthRefused({ error: "invalid_client_metadata", description: "The body is not JSON." })
const needsBoth = new OauthRefused({ error: "invalid_request", description: "token and client_id are needed." })
const repeated = new OauthRefused({ error: "invalid_request", description: "A field comes twice." })
