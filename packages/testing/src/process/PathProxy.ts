import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"

/** A reverse proxy that serves a server below a path of its own address, and takes the path off what it sends on. */
export interface PathProxy {
  /** The public URL of the server, without a slash at the end. */
  readonly url: string
  /** Sends requests to the server on that port of 127.0.0.1 from now on. */
  readonly lead: (port: number) => void
  /** The requests that did not go below the path, which would have reached another application. */
  readonly astray: ReadonlyArray<string>
  /** The status of each answer, and the whole URL that its `Location` stands for, if it has one. */
  readonly answers: ReadonlyArray<{ readonly status: number; readonly location: string | undefined }>
  readonly close: () => void
}

/** Listens on a free port of 127.0.0.1. Both `path` and `path/` lead to `/` of the server. */
export const proxyBelow = async (path: `/${string}`): Promise<PathProxy> => {
  let port = 0
  const astray: Array<string> = []
  const answers: Array<PathProxy["answers"][number]> = []
  const server = createServer((incoming, outgoing) => {
    const { headers, method = "GET", url: asked = "" } = incoming
    const rest = asked.startsWith(path) ? asked.slice(path.length) : undefined
    if (rest === undefined || !/^(?:[/?]|$)/.test(rest)) {
      astray.push(`${method} ${asked}`)
      outgoing.writeHead(404).end()
      return
    }
    const below = rest.startsWith("/") ? rest : `/${rest}`
    const passed = request({ host: "127.0.0.1", port, path: below, method, headers }, (answer) => {
      const { location } = answer.headers
      const from = `${url}${rest}`
      answers.push({
        status: answer.statusCode ?? 0,
        location: location === undefined ? undefined : new URL(location, from).href
      })
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on("error", () => outgoing.destroy())
    outgoing.on("close", () => passed.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  // Boundary: a server that listens on a port has an address of that kind.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  const lead = (to: number) => {
    port = to
  }
  return { url, lead, astray, answers, close }
}
