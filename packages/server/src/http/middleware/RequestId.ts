import { randomUUID } from "node:crypto"
import { type HttpApp, HttpServerRequest } from "@effect/platform"
import { Effect, Option } from "effect"
import { clientAddressBehind } from "../ClientAddress.js"
import { complete, Exchange } from "../Exchange.js"

/** Opens the exchange of a request, names it by the caller's `X-Request-Id` if that is well formed, and completes its answer. */
export const requestId =
  (trustedProxies: ReadonlyArray<string>) =>
  <E, R>(app: HttpApp.Default<E, R | Exchange>): HttpApp.Default<E, Exclude<R, Exchange>> => {
    const clientAddress = clientAddressBehind(trustedProxies)
    return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const given = request.headers["x-request-id"]
      const requestId = given !== undefined && wellFormed.test(given) ? given : randomUUID()
      const queryAt = request.url.indexOf("?")
      const exchange = Exchange.of({
        request,
        path: queryAt === -1 ? request.url : request.url.slice(0, queryAt),
        query: queryAt === -1 ? "" : request.url.slice(queryAt + 1),
        requestId,
        clientAddress: clientAddress(
          Option.getOrElse(request.remoteAddress, () => "unknown"),
          request.headers["x-forwarded-for"]
        ),
        headers: new Map([["x-request-id", requestId]]),
        cookies: [],
        principal: undefined
      })
      return Effect.map(Effect.provideService(app, Exchange, exchange), (response) => complete(response, exchange))
    })
  }

const wellFormed = /^[\w.-]{1,128}$/
