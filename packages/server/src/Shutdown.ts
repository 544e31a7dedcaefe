import { ReinsError } from "@reins/core/domain/ReinsError"
import { Context, Deferred, Effect, Layer } from "effect"
import type { Exchange } from "./http/Exchange.js"
import { errorReply } from "./http/middleware/ErrorEnvelope.js"
import { send } from "./http/Reply.js"

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
    /** A request is worked on from now on. Gives the error that it is refused with, if it is. */
    readonly enter: (exchange: Exchange) => ReinsError | undefined
    /** The work on a request is done, and its answer goes out next. */
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

/** A probe is still told the truth. */
const isProbe = (path: string): boolean => path === "/healthz" || path === "/readyz"

export const shuttingDown = new ReinsError({
  code: "shutting_down",
  message: "The service is being stopped. Try again in a moment.",
  retryAfterSeconds: 5
})
