// Readers of an event stream. They are plain sockets that only read, because they share the machine with the server.
import { connect } from "node:net"
import { request } from "./load.mjs"

/**
 * Opens streams of a session's events from now on. `seen(chunk)` gets everything that they read. `closed()` gives the number of streams that
 * the server has ended.
 */
export const openReaders = async (server, sessionId, count, seen) => {
  const { hostname, port } = new URL(server.url)
  const { event_watermark: watermark } = await (
    await fetch(`${server.url}/api/sessions/${sessionId}/events?limit=1`, { headers: server.headers })
  ).json()
  const path = `/api/sessions/${sessionId}/events?after=${watermark}&max_seconds=600`
  const opening = request("GET", path, { ...server.headers, Accept: "text/event-stream" })
  let closed = 0
  const sockets = []
  const open = () =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(opening))
      sockets.push(socket)
      socket.on("error", reject).on("close", () => closed++)
      socket.once("data", (head) => {
        if (!head.toString().startsWith("HTTP/1.1 200")) return reject(new Error(`no stream:\n${head}`))
        const reader = {}
        socket.on("data", (chunk) => seen(chunk, reader))
        resolve(socket)
      })
    })
  // Clients open a few streams at once, as real ones come. More would wait for each other in the queue of the listener.
  while (sockets.length < count) await Promise.all(Array.from({ length: Math.min(50, count - sockets.length) }, open))
  const close = () => {
    for (const socket of sockets) socket.destroy()
  }
  return { sockets, closed: () => closed, close }
}
