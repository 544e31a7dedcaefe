import { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Deferred, Effect, Layer } from "effect"
import type { Exchange } from "./http/Exchange.js"
import { errorReply } from "./http/middleware/ErrorEnvelope.js"
import { send } from "./http/Reply.js"

/** Ends the service in order: requests that have begun are finished, new ones are refused. */
export class Shutdown extends Context.Tag("@reins/server/Shutdown")<
  Shutdown,
  {
    /** Ends streams and held waits. Requests are still served, and their connections are closed after the answer. */
    readonly begin: Effect.Effect<void>
    /** Completes once the end has begun. */
    readonly begun: Effect.Effect<void>
    readonly hasBegun: Effect.Effect<boolean>
    /** From now on requests are answered with `shutting_down`. */
    readonly refuse: Effect.Effect<void>
    /** Answers the requests that still run with `shutting_down`. A mutation is finished all the same, and its answer waits for the repeated call. */
    readonly giveUp: Effect.Effect<void>
    /** Counts a request as running. Gives back the error that it is refused with, if any. */
    readonly enter: (exchange: Exchange) => ReinsError<"shutting_down"> | undefined
    /** Counts a request as done. Its answer goes out next. */
    readonly leave: (exchange: Exchange) => void
  }
>() {
  static readonly layer = Layer.effect(
    Shutdown,
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const running = new Set<Exchange>()
      let isOver = false
      let refuses = false
      return Shutdown.of({
        begin: Effect.suspend(() => {
          isOver = true
          return Deferred.succeed(begun, undefined)
        }),
        begun: Deferred.await(begun),
        hasBegun: Effect.sync(() => isOver),
        refuse: Effect.sync(() => {
          refuses = true
        }),
        giveUp: Effect.sync(() => {
          for (const exchange of running) {
            exchange.headers["connection"] = "close"
            send(exchange, errorReply(shuttingDown, exchange.requestId))
          }
        }),
        enter: (exchange) => {
          running.add(exchange)
          return refuses && !isProbe(exchange.path) ? shuttingDown : undefined
        },
        leave: (exchange) => {
          running.delete(exchange)
          if (isOver) exchange.headers["connection"] = "close"
        }
      })
    })
  )
}

/** Probes are still answered while other requests are refused. */
const isProbe = (path: string): boolean => path === "/healthz" || path === "/readyz"

export const shuttingDown = new ReinsError({
  code: "shutting_down",
  message: "The service is being stopped. Try again in a moment.",
  retryAfterSeconds: 5
})
