import { Cookies, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import type { Principal } from "@reins/core/domain/Principal"
import { Context } from "effect"

/** One request while it is answered: what the parts of the chain know of it, and what they add to its answer, whatever that is. */
export class Exchange extends Context.Tag("@reins/server/http/Exchange")<
  Exchange,
  {
    readonly request: HttpServerRequest.HttpServerRequest
    /** The path without the query. */
    readonly path: string
    /** The query as it was sent, without the question mark. */
    readonly query: string
    readonly requestId: string
    /** The address that the request comes from, as the connection or a trusted proxy tells it. */
    readonly clientAddress: string
    readonly headers: Map<string, string>
    readonly cookies: Array<Cookies.Cookie>
    /** Who calls, once that is known. */
    principal: Principal | undefined
  }
>() {}

export type ExchangeState = Exchange["Type"]

/** The answer with all that was added to it on the way. */
export const complete = (
  response: HttpServerResponse.HttpServerResponse,
  exchange: ExchangeState
): HttpServerResponse.HttpServerResponse => {
  const withHeaders = HttpServerResponse.setHeaders(response, {
    ...Object.fromEntries(exchange.headers),
    ...response.headers
  })
  return exchange.cookies.length === 0
    ? withHeaders
    : HttpServerResponse.mergeCookies(withHeaders, Cookies.fromIterable(exchange.cookies))
}
