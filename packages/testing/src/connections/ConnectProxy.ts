import http from "node:http"
import { connect } from "node:net"
import { pipeline } from "node:stream"

/** A CONNECT proxy of an operator, with a world behind it that only it reaches. */
export interface OperatorProxy {
  /** Every place that it was asked for by somebody with the right name and password, in order. */
  readonly asked: ReadonlyArray<string>
  readonly port: number
  readonly close: () => Promise<void>
}

export interface OperatorProxyOptions {
  readonly host?: string
  /** The value of `Proxy-Authorization`; undefined asks for none. */
  readonly authorization?: string
  /** The port of loopback that stands for a place, as in `forge.example:443`, or the status of the refusal. */
  readonly world: (place: string) => number | { readonly status: number }
}

/** Starts a proxy that connects to the ports of loopback that its world names. */
export const startOperatorProxy = async ({
  authorization,
  host = "127.0.0.1",
  world
}: OperatorProxyOptions): Promise<OperatorProxy> => {
  const asked: Array<string> = []
  const server = http.createServer((_request, response) => void response.writeHead(405).end())
  server.on("connect", (request, client, head) => {
    client.on("error", () => client.destroy())
    const refuse = (status: number) => client.end(`HTTP/1.1 ${status} No\r\nConnection: close\r\n\r\n`)
    if (request.headers["proxy-authorization"] !== authorization) return refuse(407)
    const place = request.url ?? ""
    asked.push(place)
    const port = world(place)
    if (typeof port !== "number") return refuse(port.status)
    const upstream = connect(port, "127.0.0.1")
    upstream.once("error", () => client.destroy())
    upstream.once("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n")
      upstream.write(head)
      pipeline(client, upstream, client, () => {
        client.destroy()
        upstream.destroy()
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const address = server.address()
  return {
    asked,
    port: typeof address === "object" && address !== null ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
