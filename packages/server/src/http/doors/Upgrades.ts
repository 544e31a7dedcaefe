import { type IncomingMessage, type Server as NodeServer, type RequestListener, ServerResponse } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"

/** A connection whose client offers to speak WebSocket from now on. */
export interface Offer {
  readonly request: IncomingMessage
  readonly socket: Socket
  /** The bytes that came behind the request. */
  readonly head: Buffer
  /** Takes the connection away from HTTP. The request gets no other answer then. */
  readonly take: () => void
}

const offers = new WeakMap<IncomingMessage, Offer>()

/** The offer of a request; undefined for a request without one. */
export const offerOf = (request: IncomingMessage): Offer | undefined => offers.get(request)

/**
 * Gives offers of a WebSocket to the routes as requests. One of them may take the connection; any other answer refuses the offer. A request that
 * offers something else is served as if it did not, with its body.
 */
export const takeUpgrades = (node: NodeServer, serve: RequestListener): void => {
  node.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node no longer listens to the connection. A client that goes is no fault.
    socket.on("error", () => socket.destroy())
    if (!(socket instanceof Socket)) return socket.destroy()
    if (request.headers.upgrade?.toLowerCase() !== "websocket" || request.method !== "GET")
      return serveAgain(node, { request, socket, head })
    const response = responseOn(socket, request)
    // A client that does not wait for the answer to its request before gets no WebSocket.
    if (response === undefined) return socket.destroy()
    const take = () => {
      response.detachSocket(socket)
      response.destroy()
    }
    offers.set(request, { request, socket, head, take })
    serve(request, response)
  })
}

/** The answer to a request whose connection Node has let go. It ends the connection. */
const responseOn = (socket: Socket, request: IncomingMessage): ServerResponse<IncomingMessage> | undefined => {
  const response = new ServerResponse(request)
  try {
    response.assignSocket(socket)
  } catch {
    return undefined
  }
  response.shouldKeepAlive = false
  response.once("finish", () => socket.destroySoon())
  return response
}

/** Brings a request back to the server without the headers of its offer. */
const serveAgain = (node: NodeServer, { head, request, socket }: Omit<Offer, "take">): void => {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`]
  for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
    const [name = "", value = ""] = request.rawHeaders.slice(at, at + 2)
    if (!/^(?:connection|upgrade)$/i.test(name)) lines.push(`${name}: ${value}`)
  }
  // A client that wants no further request says so in the same header as its offer.
  if (/\bclose\b/i.test(request.headers.connection ?? "")) lines.push("Connection: close")
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]))
  node.emit("connection", socket)
}
