import { type HttpApp, HttpServerRequest } from "@effect/platform"
import { ReinsError } from "@reins/core/domain/ReinsError"
import { Context, Deferred, Effect, Layer } from "effect"

/** Ends the service in order: what has begun is finished, what comes anew is refused. */
export class Shutdown extends Context.Tag("@reins/server/Shutdown")<
  Shutdown,
  {
    readonly begin: Effect.Effect<void>
    /** Is through once the end has begun. */
    readonly begun: Effect.Effect<void>
    readonly hasBegun: Effect.Effect<boolean>
    /** Is through once no request is being answered. */
    readonly idle: Effect.Effect<void>
    /** Counts the requests of an app, and refuses new ones with `shutting_down` once the end has begun. */
    readonly guard: <E, R>(app: HttpApp.Default<E, R>) => HttpApp.Default<E | ReinsError, R>
  }
>() {
  static readonly layer = Layer.effect(
    Shutdown,
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const idle = yield* Effect.makeLatch(true)
      let running = 0
      return Shutdown.of({
        begin: Effect.asVoid(Deferred.succeed(begun, undefined)),
        begun: Deferred.await(begun),
        hasBegun: Deferred.isDone(begun),
        idle: idle.await,
        guard: <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E | ReinsError, R> =>
          Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
            Effect.acquireUseRelease(
              Effect.sync(() => {
                running++
                idle.unsafeClose()
              }),
              () =>
                Effect.if(
                  Effect.map(Deferred.isDone(begun), (over) => over && !isProbe(request.url)),
                  {
                    onTrue: () => Effect.fail(shuttingDown),
                    onFalse: () => app
                  }
                ),
              () =>
                Effect.sync(() => {
                  if (--running === 0) idle.unsafeOpen()
                })
            )
          )
      })
    })
  )
}

/** A probe is still told the truth. */
const isProbe = (url: string): boolean => url === "/healthz" || url === "/readyz"

const shuttingDown = new ReinsError({
  code: "shutting_down",
  message: "The service is being stopped. Try again in a moment.",
  retryAfterSeconds: 5
})
