import { hash } from "node:crypto"
import * as Cookies from "@effect/platform/Cookies"
import type { LoggedIn } from "@reins/core/identity/LoginSessions"
import { Redacted } from "effect"
import type { Exchange } from "../Exchange.js"

/** The cookies of a login. */
export interface LoginCookies {
  /** The name of the cookie with the token. */
  readonly name: string
  /** The token of the login that a request comes with. */
  readonly token: (exchange: Exchange) => string | undefined
  readonly set: (exchange: Exchange, login: LoggedIn) => void
  readonly remove: (exchange: Exchange) => void
}

/**
 * Ports do not separate cookies, so their names tell the installations of a host apart. They go to the path of the public URL alone. A browser
 * takes `__Host-` for the path `/` only.
 */
export const loginCookies = (publicUrl: URL, installation: string): LoginCookies => {
  const id = hash("sha256", `${installation} ${publicUrl.href}`, "hex").slice(0, 8)
  const secure = publicUrl.protocol === "https:"
  const path = publicUrl.pathname.replace(/(?<!\/)\/+$/, "") || "/"
  const prefix = secure ? (path === "/" ? "__Host-" : "__Secure-") : ""
  const session = `${prefix}reins_session_${id}`
  const csrf = `reins_csrf_${id}`
  const push = ({ cookies }: Exchange, [token, csrfToken]: readonly [string, string], expires: Date): void => {
    const options = { path, sameSite: "lax", secure, expires } as const
    cookies.push(
      Cookies.unsafeMakeCookie(session, token, { ...options, httpOnly: true }),
      Cookies.unsafeMakeCookie(csrf, csrfToken, options)
    )
  }
  return {
    name: session,
    token: (exchange) => exchange.cookie(session),
    set: (exchange, { csrfToken, expiresAt, token }) =>
      push(exchange, [Redacted.value(token), csrfToken], new Date(expiresAt)),
    remove: (exchange) => push(exchange, ["", ""], new Date(0))
  }
}
