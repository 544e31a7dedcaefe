import type http from "node:http"
import { createServer } from "node:http"
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
  ).pipe(Effect.map(portOf))

/** The servers of this process that keep their port, by name. Each serves what the server of a test answers. */
const standing = new Map<string, { readonly server: http.Server; answering: http.Server | https.Server | undefined }>()

/** Like `onLoopback`, on the port that a server of this name had before in this process. One server of a name listens at a time. */
export const onOwnPort =
  (name: string): typeof onLoopback =>
  (make) =>
    Effect.acquireRelease(
      Effect.async<http.Server>((resume) => {
        const known = standing.get(name)
        if (known?.answering !== undefined) return resume(Effect.dieMessage(`the port of ${name} is in use`))
        const answering = make()
        if (known !== undefined) {
          known.answering = answering
          return resume(Effect.succeed(known.server))
        }
        const server = createServer((request, response) => {
          const now = standing.get(name)?.answering
          if (now === undefined) request.socket.destroy()
          else now.emit("request", request, response)
        })
        standing.set(name, { server, answering })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server.unref())))
      }),
      (server) =>
        Effect.sync(() => {
          standing.set(name, { server, answering: undefined })
          server.closeAllConnections()
        })
    ).pipe(Effect.map(portOf))

const portOf = (server: http.Server | https.Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}
