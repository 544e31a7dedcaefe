// Readers of an event stream. They are plain sockets that only read, because they share the machine with the server.
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { request } from "./load.mjs"

/** The stream of a session. */
export const eventsOf = (sessionId) => `/api/sessions/${sessionId}/events`

/**
 * Opens streams of a log, by its path, from now on. `seen(chunk)` gets everything that they read. `closed()` gives the number of streams that
 * the server has ended.
 */
export const openReaders = async (server, log, count, seen) => {
  const { hostname, port } = new URL(server.url)
  const { event_watermark: watermark } = await (
    await fetch(`${server.url}${log}?limit=1`, { headers: server.headers })
  ).json()
  const path = `${log}?after=${watermark}&max_seconds=600`
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

/** Opens streams of a log. `allHave()` ends when each of the readers has read a word, which must be the last that is written. */
export const openReadersUntil = async (server, log, count, last) => {
  let done = 0
  let whenDone
  const allDone = new Promise((resolve) => {
    whenDone = resolve
  })
  const open = await openReaders(server, log, count, (chunk, reader) => {
    // The word may be split between two chunks.
    const isHere =
      chunk.includes(last) || Buffer.concat([reader.tail ?? chunk.subarray(0, 0), chunk.subarray(0, 64)]).includes(last)
    reader.tail = Buffer.from(chunk.subarray(-64))
    if (!isHere || reader.done) return
    reader.done = true
    if (++done === count) whenDone()
  })
  const late = async () => {
    await sleep(60_000, undefined, { ref: false })
    throw new Error(`${count - done} readers have not seen all; ${open.closed()} were ended`)
  }
  return { allHave: () => Promise.race([allDone, late()]), close: open.close }
}
