import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http"
import { request as secureRequest } from "node:https"

/** The time in which a node has to take a connection, in milliseconds. */
const connectMs = 2000

/** Begins a request to another node. It fails with the event `error` when the node takes no connection in time. */
export const requestToNode = (
  url: URL,
  options: RequestOptions,
  take: (answer: IncomingMessage) => void
): ClientRequest => {
  const out = (url.protocol === "https:" ? secureRequest : request)(url, options, take)
  out.on("socket", (socket) => {
    if (!socket.connecting) return
    const late = setTimeout(() => out.destroy(new Error("the node takes no connection")), connectMs)
    socket.once("connect", () => clearTimeout(late))
    socket.once("close", () => clearTimeout(late))
  })
  return out
}
