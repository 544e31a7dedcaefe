import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"

/** A proxy before a server that gives each list in pages of one item, as a long list comes in pages. */
export interface PagesOfOne {
  /** The address of the proxy, without a slash at the end. */
  readonly url: string
  /** The lists that were asked for, by their paths. */
  readonly lists: ReadonlySet<string>
  readonly close: () => void
}

/** Events come by numbers, and are read on by them. */
const isList = (method: string | undefined, path: string): boolean =>
  method === "GET" && !/\/events|\/stream/.test(path)

/** Listens on a free port of 127.0.0.1, before the server at an address there. */
export const pagesOfOne = async (upstream: string): Promise<PagesOfOne> => {
  const lists = new Set<string>()
  const server = createServer((incoming, outgoing) => {
    const asked = new URL(incoming.url ?? "", upstream)
    const send = (url: URL, otherwise?: () => void) => {
      const passed = request(url, { method: incoming.method, headers: incoming.headers }, (answer) => {
        // An endpoint that gives no list refuses the parameter.
        if (answer.statusCode === 422 && otherwise !== undefined) {
          answer.resume()
          otherwise()
          return
        }
        if (otherwise !== undefined && answer.statusCode === 200) lists.add(asked.pathname)
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      passed.on("error", () => outgoing.destroy())
      outgoing.on("close", () => passed.destroy())
      return passed
    }
    if (!isList(incoming.method, asked.pathname)) {
      incoming.pipe(send(asked))
      return
    }
    const one = new URL(asked)
    one.searchParams.set("limit", "1")
    send(one, () => send(asked).end()).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  // Boundary: a server that listens on a port has an address of that kind.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, lists, close }
}
