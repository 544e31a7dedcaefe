import { type HttpApp, HttpMethod } from "@effect/platform"
import type { Principal } from "@reins/core/domain/Principal"
import { Clock, Effect } from "effect"
import { Exchange } from "../Exchange.js"

/**
 * A line for each mutation and each failure: who, what, how it went. No query and no body, which may hold secrets. Only an answer that
 * nobody foresaw is a warning: a full disk or a stop says so itself, once and not for every request.
 */
export const accessLog = <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E, R | Exchange> =>
  Effect.gen(function* () {
    const exchange = yield* Exchange
    const startedAt = yield* Clock.currentTimeMillis
    const response = yield* app
    const { method } = exchange.request
    if (response.status < 400 && !HttpMethod.hasBody(method) && method !== "DELETE") return response
    const line = {
      request_id: exchange.requestId,
      method,
      path: exchange.path,
      status: response.status,
      ms: (yield* Clock.currentTimeMillis) - startedAt,
      principal: nameOf(exchange.principal)
    }
    yield* (
      response.status >= 500 && response.status !== 503 ? Effect.logWarning("request") : Effect.logInfo("request")
    ).pipe(Effect.annotateLogs(line))
    return response
  })

const nameOf = (principal: Principal | undefined): string | null =>
  principal === undefined ? null : principal.via.kind === "api_key" ? principal.via.keyId : principal.accountId
