import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { Scope } from "@reins/base/domain/Scope"
import { Access } from "@reins/core/access/Access"
import type { Login } from "@reins/core/identity/AccountsApi"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { type LoggedIn, LoginSessions } from "@reins/core/identity/LoginSessions"
import { isAccessToken, OauthTokens } from "@reins/core/oauth/OauthTokens"
import { Context, Effect, Layer, Redacted } from "effect"
import type { Exchange } from "../Exchange.js"
import { loginCookies } from "./LoginCookies.js"
import { RateLimit } from "./RateLimit.js"

/** The refusals of a caller, in the order of the checks. */
export type Refusal = ReinsError<"unauthenticated" | "csrf_failed" | "rate_limited" | "insufficient_scope">

/** The refusals where no credentials are needed. */
export type PublicRefusal = ReinsError<"csrf_failed" | "rate_limited">

/** Identifies the caller, and refuses those who may not call. With a bearer present cookies are ignored, so the two are never mixed. */
export class Authentication extends Context.Tag("@reins/server/http/Authentication")<
  Authentication,
  {
    /** The caller of a request, who must have the scope. */
    readonly admit: (exchange: Exchange, scope: Scope, mutates: boolean) => Effect.Effect<Principal, Refusal>
    /** The owner of the credentials of a request that was let in before; undefined when they are no longer good. */
    readonly identify: (exchange: Exchange) => Effect.Effect<Principal | undefined>
    /** Admits anybody, but no page of another site that uses the visitor's browser. */
    readonly admitAnybody: (exchange: Exchange, mutates: boolean) => Effect.Effect<void, PublicRefusal>
    /** Admits anybody who sends a form, but not from a page of another site. */
    readonly admitForm: (exchange: Exchange) => Effect.Effect<void, PublicRefusal>
    /** Sets the cookies of a login in the browser of the caller, and gives back the answer that tells the rest of the login. */
    readonly remember: (exchange: Exchange, login: LoggedIn) => Login
    /** Removes the cookies of a login from the browser of the caller. */
    readonly forget: (exchange: Exchange) => void
  }
>() {
  static readonly layer = (publicUrl: URL) =>
    Layer.effect(
      Authentication,
      Effect.gen(function* () {
        const access = yield* Access
        const apiKeys = yield* ApiKeys
        const apps = yield* OauthTokens
        const logins = yield* LoginSessions
        const rateLimit = yield* RateLimit
        const cookies = loginCookies(publicUrl, yield* logins.installation)

        const isForeignOrigin = (origin: string | undefined, host: string | undefined) =>
          origin !== undefined && origin !== publicUrl.origin && hostOf(origin) !== host

        const refuseForeign = (exchange: Exchange) => {
          const { host, origin } = exchange.request.headers
          const isForeign = exchange.header("sec-fetch-site") === "cross-site" || isForeignOrigin(origin, host)
          return isForeign ? Effect.fail(foreignTo(publicUrl)) : Effect.void
        }

        // The pages send no referrer, so browsers say `Origin: null` for their own forms too, and Sec-Fetch-Site decides. Browsers do not send
        // that header over plain http. An attacker gains nothing there, because a form does nothing without a token or an address.
        const isForeignForm = (exchange: Exchange): boolean => {
          const { host, origin } = exchange.request.headers
          const site = exchange.header("sec-fetch-site")
          return site === undefined
            ? origin !== "null" && isForeignOrigin(origin, host)
            : site !== "same-origin" && site !== "none"
        }

        const identify = (exchange: Exchange): Effect.Effect<Principal | undefined> => {
          const key = bearerOf(exchange)
          if (key !== undefined && isAccessToken(key))
            return exchange.isForApps ? apps.authenticate(Redacted.make(key)) : Effect.succeed(undefined)
          if (key !== undefined) return apiKeys.authenticate(Redacted.make(key))
          const token = cookies.token(exchange)
          return token === undefined ? Effect.succeed(undefined) : logins.authenticate(Redacted.make(token))
        }

        const checkCsrf = Effect.fnUntraced(function* (exchange: Exchange, principal: Principal) {
          yield* refuseForeign(exchange)
          if (!logins.verifyCsrf(principal, exchange.header("x-csrf-token") ?? "")) return yield* csrfFailed
        })

        return Authentication.of({
          admit: Effect.fnUntraced(function* (exchange, scope, mutates) {
            const principal = yield* identify(exchange)
            if (principal?.via.kind === "login" && mutates) yield* checkCsrf(exchange, principal)
            exchange.principal = principal
            yield* rateLimit.take(exchange)
            if (principal === undefined) return yield* unauthenticated
            yield* access.requireScope(principal, scope)
            return principal
          }),
          identify,
          admitAnybody: (exchange, mutates) =>
            Effect.zipRight(
              rateLimit.take(exchange),
              mutates && bearerOf(exchange) === undefined ? refuseForeign(exchange) : Effect.void
            ),
          admitForm: (exchange) =>
            Effect.zipRight(
              rateLimit.take(exchange),
              isForeignForm(exchange) ? Effect.fail(foreignTo(publicUrl)) : Effect.void
            ),
          remember: (exchange, login) => {
            cookies.set(exchange, login)
            return login.login
          },
          forget: cookies.remove
        })
      })
    )
}

/** The token of the header `Authorization: Bearer`. */
export const bearerOf = (exchange: Exchange): string | undefined =>
  /^bearer +(\S+) *$/i.exec(exchange.header("authorization") ?? "")?.[1]

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)

const unauthenticated = new ReinsError({
  code: "unauthenticated",
  message: "No valid credentials. Send an API key as `Authorization: Bearer rk_...`, or log in."
})

const csrfFailed = new ReinsError({
  code: "csrf_failed",
  message:
    "A change with a login cookie needs the header X-CSRF-Token, with the csrf_token that the login and GET /api/me give."
})

const foreignTo = (publicUrl: URL) =>
  new ReinsError({
    code: "csrf_failed",
    message:
      `This request comes from a page of another site. Open the page at ${publicUrl.host}${publicUrl.pathname.replace(/\/$/, "")}, or call with an API key. ` +
      "Where a proxy stands in front, let it pass the Host header on, or set REINS_PUBLIC_URL to the address that people open."
  })
