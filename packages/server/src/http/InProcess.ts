import { createServer, type IncomingMessage, type Server as NodeServer, type RequestListener, request } from "node:http"
import { type Duplex, duplexPair, Readable } from "node:stream"

/**
 * Calls the routes of this process as a client does, over a pair of streams in the place of a socket. All that holds for a request from outside
 * holds for these too: credentials, scopes, limits, and the way to other nodes.
 */
export class InProcess {
  private made: NodeServer | undefined

  constructor(private readonly take: RequestListener) {}

  /** A `fetch` whose requests come from this address, and go to this process whatever host they name. */
  readonly fetchFor =
    (clientAddress: string): typeof globalThis.fetch =>
    async (input, init) => {
      const asked = new Request(input, init)
      const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer())
      const { pathname, search } = new URL(asked.url)
      const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
        const out = request(
          {
            method: asked.method,
            path: pathname + search,
            headers: {
              ...Object.fromEntries(asked.headers),
              host: "localhost",
              ...(body !== undefined && { "content-length": body.length })
            },
            signal: asked.signal,
            createConnection: () => this.connect(clientAddress)
          },
          resolve
        )
        out.once("error", reject)
        out.end(body)
      })
      const status = incoming.statusCode ?? 500
      const isEmpty = status === 204 || status === 304
      if (isEmpty) incoming.resume()
      return new Response(isEmpty ? null : webStream(incoming), { status, headers: headersOf(incoming) })
    }

  private connect(clientAddress: string): Duplex {
    // It listens nowhere.
    this.made ??= createServer({ keepAliveTimeout: 1 }, this.take)
    const [near, far] = duplexPair()
    this.made.emit("connection", Object.assign(far, { remoteAddress: clientAddress, isOfDoor: true }))
    return near
  }
}

// Boundary: the types of Node and those of the web differ in what they call the same stream.
const webStream = (incoming: IncomingMessage) => Readable.toWeb(incoming) as unknown as ReadableStream<Uint8Array>

const headersOf = ({ headersDistinct }: IncomingMessage): Headers => {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value)
  return headers
}
