import { readJson } from "@reins/base/base/ForeignJson"
import { scrubber } from "@reins/machine/harness/Secrets"
import type { Outbound, OutboundAnswer } from "@reins/machine/outbound/Outbound"
import { Effect, Option, Redacted, Schema } from "effect"
import {
  boundIssuer,
  type GrantAnswer,
  type GrantClient,
  type GrantedToken,
  GrantRefused,
  isScopeList,
  type TokenPlace
} from "./Grant.js"
import { grantLimits, unasked } from "./TokenPlaces.js"

// Owns the request of RFC 6749 for an access token, with the resource of RFC 8707, and its answer.

/** The refusals that the standards name. Another word may be anything, so nobody is told of it. */
const knownErrors: ReadonlySet<unknown> = new Set([
  "access_denied",
  "invalid_client",
  "invalid_grant",
  "invalid_request",
  "invalid_scope",
  "invalid_target",
  "server_error",
  "slow_down",
  "temporarily_unavailable",
  "unauthorized_client",
  "unsupported_grant_type"
])

/** Refusals that say nothing of the credential. */
const passing: ReadonlySet<unknown> = new Set(["server_error", "slow_down", "temporarily_unavailable"])

/** A token that says nothing of its life is asked for anew after this time, in milliseconds. */
const unknownLifeMs = 5 * 60_000

/** The longest time for which a token is believed to be good, in milliseconds. */
const longestLifeMs = 60 * 60_000

const Answer = Schema.Struct({
  access_token: Schema.optional(Schema.Unknown),
  token_type: Schema.optional(Schema.Unknown),
  expires_in: Schema.optional(Schema.Unknown),
  refresh_token: Schema.optional(Schema.Unknown),
  scope: Schema.optional(Schema.Unknown),
  /** Some places write an error that says nothing beside a token. */
  error: Schema.optionalWith(
    Schema.transform(Schema.Unknown, Schema.Unknown, {
      strict: true,
      decode: (given) => (given === null || given === "" ? undefined : given),
      encode: (given) => given
    }),
    { exact: true }
  )
})
type Answer = typeof Answer.Type

const AccessToken = Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{1,16384}$/))
const RefreshToken = Schema.String.pipe(Schema.pattern(/^[\x20-\x7e]{1,20000}$/))

type Method = "client_secret_basic" | "client_secret_post" | "none"

/** The client that asks, by the names of the fields of a connection. */
type Client = GrantClient & {
  /** True where a person has just logged in with a browser. */
  readonly isLogin?: true
}

/** The part of a request that says what for. */
type Form = Readonly<Record<string, string>>

/** Asks a place for a token, with the refresh token where there is one, else in the name of the client itself. */
export const askPlace = (
  place: TokenPlace,
  connection: GrantClient,
  outbound: Outbound["Type"]
): Effect.Effect<GrantAnswer> => {
  const refresh = valueOf(connection, "refresh_token")
  const form: Form =
    refresh === undefined
      ? { grant_type: "client_credentials" }
      : { grant_type: "refresh_token", refresh_token: refresh }
  const { scopes } = connection.settings
  return ask(place, connection, scopes === undefined ? form : { ...form, scope: scopes }, outbound)
}

/** Asks a place for the first tokens of a login, with the code that the browser has brought. */
export const askWithCode = (
  place: TokenPlace,
  client: Client,
  { code, redirectUri, verifier }: Readonly<Record<"code" | "redirectUri" | "verifier", string>>,
  outbound: Outbound["Type"]
): Effect.Effect<GrantAnswer> =>
  ask(
    place,
    { ...client, isLogin: true },
    { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier },
    outbound
  )

/** Asks the authorization server of a connection to end what its credential gives (RFC 7009). True where it says that it has. */
export const endGranted = (
  place: TokenPlace,
  connection: GrantClient,
  outbound: Outbound["Type"]
): Effect.Effect<boolean> => {
  const method = methodOf(place, connection)
  const kind = ["refresh_token", "access_token"].find((name) => connection.secrets[name] !== undefined)
  if (place.revocation === undefined || method === undefined || kind === undefined) return Effect.succeed(false)
  const form = { token: valueOf(connection, kind) ?? "", token_type_hint: kind }
  return Effect.match(send({ ...place, endpoint: place.revocation }, connection, method, form, outbound), {
    onFailure: () => false,
    onSuccess: ({ status }) => status === 200
  })
}

const ask = Effect.fnUntraced(function* (
  place: TokenPlace,
  connection: Client,
  form: Form,
  outbound: Outbound["Type"]
): Effect.fn.Return<GrantAnswer> {
  const { [boundIssuer]: _, ...secrets } = connection.secrets
  const words = scrubber(secrets)
  const refused = (failure: GrantRefused): GrantAnswer => ({
    found: new GrantRefused({ reason: failure.reason, message: words.scrub(failure.message) }),
    replaced: {}
  })
  const method = methodOf(place, connection)
  if (method === undefined) return refused(noMethod(place))
  const asked = { ...form, resource: place.resource }
  const first = yield* Effect.either(send(place, connection, method, asked, outbound))
  if (first._tag === "Left") return refused(unasked(first.left))
  const isUnknownWay = place.methods === undefined && method === "client_secret_basic"
  if (!isUnknownWay || errorOf(first.right) !== "invalid_client") return answerOf(place, connection, first.right)
  // Nobody has told which way the place takes, and it has taken nothing yet.
  const second = yield* Effect.either(send(place, connection, "client_secret_post", asked, outbound))
  return second._tag === "Left" ? refused(unasked(second.left)) : answerOf(place, connection, second.right)
})

/** The way in which the client says who it is; undefined where the place takes none that it can. */
const methodOf = ({ methods }: TokenPlace, { secrets }: Client): Method | undefined => {
  if (secrets["client_secret"] === undefined) return "none"
  if (methods === undefined) return "client_secret_basic"
  return (["client_secret_basic", "client_secret_post"] as const).find((way) => methods.includes(way))
}

const noMethod = ({ endpoint }: TokenPlace) =>
  new GrantRefused({
    reason: "unexpected_answer",
    message: `${endpoint.host} takes a client secret neither as HTTP Basic nor in the body, and no other way is known here.`
  })

const valueOf = (connection: Client, name: string): string | undefined => {
  const secret = connection.secrets[name]
  return secret === undefined ? undefined : Redacted.value(secret)
}

/** A text as forms write it, which is how RFC 6749 puts it into HTTP Basic. */
const inForm = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1)

const send = ({ endpoint }: TokenPlace, client: Client, method: Method, fields: Form, outbound: Outbound["Type"]) => {
  const { client_id = "" } = client.settings
  const secret = valueOf(client, "client_secret") ?? ""
  const form = new URLSearchParams(fields)
  if (method !== "client_secret_basic") form.set("client_id", client_id)
  if (method === "client_secret_post") form.set("client_secret", secret)
  const basic = Buffer.from(`${inForm(client_id)}:${inForm(secret)}`).toString("base64")
  const headers = {
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
    ...(method === "client_secret_basic" && { authorization: `Basic ${basic}` })
  }
  return outbound.fetch(endpoint.href, { method: "POST", headers, body: form.toString() }, grantLimits)
}

const decodeAnswer = readJson(Answer)

const bodyOf = ({ body }: OutboundAnswer): Answer => Option.getOrElse(decodeAnswer(body), () => ({}))

const errorOf = (answer: OutboundAnswer): unknown => bodyOf(answer).error

const answerOf = ({ endpoint }: TokenPlace, connection: Client, answer: OutboundAnswer): GrantAnswer => {
  const { access_token, error, expires_in, refresh_token, scope, token_type } = bodyOf(answer)
  const replaced =
    Schema.is(RefreshToken)(refresh_token) && refresh_token !== valueOf(connection, "refresh_token")
      ? { refresh_token: Redacted.make(refresh_token) }
      : {}
  const unusable = (what: string): GrantAnswer => ({
    found: new GrantRefused({ reason: "unexpected_answer", message: `${endpoint.host} ${what}` }),
    replaced
  })
  if (answer.status !== 200 || error !== undefined)
    return { found: refusalOf(endpoint, connection, answer), replaced: {} }
  if (access_token === undefined) return unusable("answers with something that is no token.")
  if (typeof token_type !== "string" || token_type.toLowerCase() !== "bearer")
    return unusable("gives a token of another type than Bearer.")
  if (!Schema.is(AccessToken)(access_token)) return unusable("gives a token that headers cannot have.")
  const toldMs = toldLifeOf(expires_in)
  const lifeMs = Math.min(toldMs ?? unknownLifeMs, longestLifeMs)
  const found: GrantedToken = {
    token: Redacted.make(access_token),
    lifeMs,
    toldMs,
    scope: typeof scope === "string" && isScopeList(scope) ? scope : undefined
  }
  return { found, replaced }
}

/** The time for which a token is good, in milliseconds. Some places say it as a text. */
const toldLifeOf = (expiresIn: unknown): number | undefined => {
  const seconds = typeof expiresIn === "string" && /^\d{1,12}$/.test(expiresIn) ? Number(expiresIn) : expiresIn
  if (typeof seconds !== "number" || !Number.isFinite(seconds)) return undefined
  return Math.max(seconds, 0) * 1000
}

const refusalOf = (endpoint: URL, { isLogin, secrets }: Client, answer: OutboundAnswer): GrantRefused => {
  const error = errorOf(answer)
  const how = `(${knownErrors.has(error) ? String(error) : answer.status})`
  const failed = (reason: GrantRefused["reason"], what: string) =>
    new GrantRefused({ reason, message: `${endpoint.host} ${what}` })
  if (answer.status === 429 || error === "slow_down") return failed("rate_limited", `was asked too often ${how}.`)
  if (answer.status >= 500 || passing.has(error)) return failed("upstream_error", `failed ${how}.`)
  if (error === undefined && answer.status !== 400 && answer.status !== 401 && answer.status !== 403)
    return failed("unexpected_answer", `answers with the status ${answer.status} and no token.`)
  if (isLogin)
    return failed(
      "credential_refused",
      error === "invalid_grant"
        ? `refuses the code of the login ${how}: it has ended, or it was used already. Begin again.`
        : `refuses the login ${how}. Begin again, or register Reins there and give its client_id.`
    )
  if (error === "invalid_grant" && secrets["refresh_token"] !== undefined)
    return failed(
      "credential_refused",
      `refuses the refresh token ${how}: it has ended, or it was used already. Get another one there, and give the connection the new credential.`
    )
  return failed(
    "credential_refused",
    `refuses the credential ${how}. Check it there, and give the connection a new credential.`
  )
}
