import type http from "node:http"
import type https from "node:https"
import { Effect } from "effect"

/** Has a server listen on loopback, or on another address of this machine, until the scope closes, and gives its port. */
export const onLoopback = (make: () => http.Server | https.Server, host = "127.0.0.1") =>
  Effect.acquireRelease(
    Effect.async<http.Server | https.Server>((resume) => {
      const server = make()
      server.listen(0, host, () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    })
  )
