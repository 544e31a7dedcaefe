import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { afterEach, assert, beforeEach, it } from "vitest"
import { killServers, newKey, type ServerProcess, startServer } from "./ServerProcess.js"
import { eventually } from "./Waiting.js"

let dataDir: string
const sockets = new Set<Socket>()

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "reins-connections-"))
})
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  killServers()
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

interface Line {
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
    sockets.add(socket)
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

/** So many connections, a few at a time, as the queue of a listener is finite. */
const openMany = async (server: ServerProcess, count: number, text: (index: number) => string) => {
  const lines: Array<Line> = []
  while (lines.length < count) {
    const batch = Array.from({ length: Math.min(100, count - lines.length) }, (_, index) =>
      open(server, text(lines.length + index))
    )
    lines.push(...(await Promise.all(batch)))
  }
  return lines
}

const firstWorkspace = async (client: Reins) => (await client.accounts.me()).workspaces[0]?.id ?? ""

const newSession = async (client: Reins) => {
  const workspace_id = await firstWorkspace(client)
  await client.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: "http://127.0.0.1:9", api_key: "k" }
  })
  return client.sessions.create({ workspace_id, harness: { provider_id: "alpha", model: "scripted-1" } })
}

it("a server with few file descriptors keeps some for its own work, and takes connections again once there are", async () => {
  const server = await startServer({ dataDir, launcher: ["sh", "-c", 'ulimit -n 256 && exec "$0" "$@"'] })
  const apiKey = newKey(dataDir)
  const client = new Reins({ baseUrl: server.url, apiKey })
  const session = await newSession(client)
  const lines = await openMany(server, 400, () => "GET /healthz HTTP/1.1\r\nhost: reins\r\nx-slow: ")
  const isRefused = (line: Line) => line.isClosed()
  assert.isAbove(await eventually("some are refused", () => lines.filter(isRefused).length || undefined), 0)
  assert.isBelow(readdirSync(`/proc/${server.pid}/fd`).length, 256 - 32)
  for (const { socket } of lines) socket.destroy()
  const read = () => client.sessions.get({ session_id: session.id }).catch(() => undefined)
  await eventually("it answers again", read)
  // Files and git need descriptors too.
  await client.sessions.uploadFile({ session_id: session.id, path: "a.txt", content: "a" })
  assert.strictEqual((await client.sessions.readFile({ session_id: session.id, path: "a.txt" })).content, "a")
  assert.notInclude(server.log(), "EMFILE")
})
