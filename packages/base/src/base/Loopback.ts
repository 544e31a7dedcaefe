import type http from "node:http"
import { Effect, Option, Scope, SynchronizedRef } from "effect"

/**
 * Gives the port of a server on loopback. The server starts when somebody first asks for its port, and ends with the scope after `closing`. Neither
 * it nor its connections keep the process alive.
 */
export const portOnDemand = (make: () => http.Server, closing: () => void) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const started = yield* SynchronizedRef.make(Option.none<number>())
    return SynchronizedRef.modifyEffect(started, (running) =>
      Effect.map(
        Option.match(running, {
          onNone: () => Scope.extend(listen(make, closing), scope),
          onSome: Effect.succeed
        }),
        (port) => [port, Option.some(port)] as const
      )
    )
  })

const listen = (make: () => http.Server, closing: () => void) =>
  Effect.acquireRelease(
    Effect.async<http.Server>((resume) => {
      const server = make()
      server.on("connection", (socket) => socket.unref())
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server))).unref()
    }),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        closing()
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    })
  )
