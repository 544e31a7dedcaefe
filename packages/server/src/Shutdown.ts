import type { HttpApp } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { ReinsError } from "@reins/core/domain/ReinsError"
import { Context, Deferred, Effect, Layer } from "effect"
import { Exchange, type ExchangeState } from "./http/Exchange.js"
import { envelopeOf, headersOf } from "./http/middleware/ErrorEnvelope.js"

/** Ends the service in order: what has begun is finished, what comes anew is refused. */
export class Shutdown extends Context.Tag("@reins/server/Shutdown")<
  Shutdown,
  {
    /** Ends streams and waits. Requests are still served, and told to come back on another connection. */
    readonly begin: Effect.Effect<void>
    /** Is through once the end has begun. */
    readonly begun: Effect.Effect<void>
    readonly hasBegun: Effect.Effect<boolean>
    /** From now on requests are answered with `shutting_down`. */
    readonly refuse: Effect.Effect<void>
    /** Answers what is still being worked on with `shutting_down`. A mutation is finished all the same, for whoever repeats it. */
    readonly giveUp: Effect.Effect<void>
    /** Does all of this to the requests of an app. */
    readonly guard: <E, R>(app: HttpApp.Default<E, R>) => HttpApp.Default<E | ReinsError, R | Exchange>
  }
>() {
  static readonly layer = Layer.effect(
    Shutdown,
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const running = new Set<ExchangeState>()
      let refuses = false
      return Shutdown.of({
        begin: Effect.asVoid(Deferred.succeed(begun, undefined)),
        begun: Deferred.await(begun),
        hasBegun: Deferred.isDone(begun),
        refuse: Effect.sync(() => {
          refuses = true
        }),
        giveUp: Effect.sync(() => {
          for (const exchange of running) answerUnfinished(exchange)
        }),
        guard: <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E | ReinsError, R | Exchange> =>
          Effect.flatMap(Exchange, (exchange) =>
            Effect.acquireUseRelease(
              Effect.sync(() => running.add(exchange)),
              (): HttpApp.Default<E | ReinsError, R> =>
                refuses && !isProbe(exchange.path) ? Effect.fail(shuttingDown) : app,
              () =>
                Effect.map(Deferred.isDone(begun), (isOver) => {
                  running.delete(exchange)
                  if (isOver) exchange.headers.set("connection", "close")
                })
            )
          )
      })
    })
  )
}

/** A probe is still told the truth. */
const isProbe = (path: string): boolean => path === "/healthz" || path === "/readyz"

const shuttingDown = new ReinsError({
  code: "shutting_down",
  message: "The service is being stopped. Try again in a moment.",
  retryAfterSeconds: 5
})

const answerUnfinished = (exchange: ExchangeState): void => {
  const response = NodeHttpServerRequest.toServerResponse(exchange.request)
  if (response.headersSent) return
  response.writeHead(shuttingDown.status, {
    ...Object.fromEntries(exchange.headers),
    ...headersOf(shuttingDown),
    "content-type": "application/json",
    connection: "close"
  })
  response.end(JSON.stringify(envelopeOf(shuttingDown, exchange.requestId)))
}
