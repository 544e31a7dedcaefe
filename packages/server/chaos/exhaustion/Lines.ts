import { get } from "node:http"
import { connect, type Socket } from "node:net"
import type { ServerProcess } from "@reins/testing/process/ServerProcess"

/** A connection, and all that has come of it. */
export interface Line {
  readonly socket: Socket
  /** All that the server has said on it. */
  readonly heard: () => string
  readonly isClosed: () => boolean
}

/** A connection that has sent something. */
const open = (server: ServerProcess, text: string) =>
  new Promise<Line>((resolve) => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    let heard = ""
    let isClosed = false
    const line = { socket, heard: () => heard, isClosed: () => isClosed }
    socket.on("data", (chunk) => {
      heard += String(chunk)
    })
    socket.on("error", () => undefined)
    socket.once("close", () => {
      isClosed = true
      resolve(line)
    })
    socket.once("connect", () => socket.write(text, () => resolve(line)))
  })

/** Is through once the server has taken every connection before this one, or takes none any more. */
const taken = (server: ServerProcess) =>
  new Promise<void>((resolve) => {
    get(`${server.url}/healthz`, { agent: false }, (response) => response.resume().once("end", resolve)).once(
      "error",
      () => resolve()
    )
  })

/** So many connections, a few at a time, as the queue of a listener is finite. */
export const openMany = async (
  server: ServerProcess,
  count: number,
  text: (index: number) => string
): Promise<ReadonlyArray<Line>> => {
  const lines: Array<Line> = []
  while (lines.length < count) {
    const batch = Array.from({ length: Math.min(100, count - lines.length) }, (_, index) =>
      open(server, text(lines.length + index))
    )
    lines.push(...(await Promise.all(batch)))
    await taken(server)
  }
  return lines
}

export const close = (lines: ReadonlyArray<Line>): void => {
  for (const { socket } of lines) socket.destroy()
}
