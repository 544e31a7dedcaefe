import { connect, type Socket } from "node:net"
import type { Reins } from "@reins/client"
import { blockReader } from "@reins/testing/process/Blocks"
import { newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { upTo } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, beforeEach, it } from "vitest"
import { memoryOf } from "../exhaustion/Vitals.js"
import { heartbeatSeconds } from "../Volume.js"
import { readStream, type Source } from "./EventReaders.js"

const place = placeForEachTest(inMemory)
let server: ServerProcess
let source: Source
let reins: Reins
/** The paths of the stream of the session and of that of its workspace. */
let paths: readonly [string, string]

beforeEach(async () => {
  server = await startServer({ dataDir: place.dataDir, env: { REINS_HEARTBEAT_SECONDS: String(heartbeatSeconds) } })
  const caller = await newCaller(server, place.dataDir)
  reins = caller.at(server)
  source = { baseUrl: server.url, apiKey: caller.apiKey, sessionId: await caller.newSession(reins) }
  paths = [`/api/sessions/${source.sessionId}/events`, `/api/workspaces/${caller.workspaceId}/events`]
})

/** The memory that the server holds, in MiB. */
const resident = (): number => memoryOf(server.pid).now / 2 ** 20

/** Asks for the stream and takes nothing of the answer but its first bytes. */
const openAndRest = async (path: string): Promise<Socket> => {
  const { hostname, port } = new URL(source.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on("error", () => {})
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\naccept: text/event-stream\r\nauthorization: Bearer ${source.apiKey}\r\n\r\n`
  )
  await new Promise((resolve) => socket.once("data", resolve))
  return socket.pause()
}

/** The readers of each of the two streams. */
const sleepers = 4
const readers = 10
/** Of about 100 kB each: far more than the buffers of a connection, and than all that the sleepers may cost together. */
const large = 400

it("a reader that never reads is cut off alone: the others miss nothing, and the server holds little for it", {
  timeout: 600_000
}, async () => {
  const sleeping = await Promise.all(paths.flatMap((path) => upTo(sleepers).map(() => openAndRest(path))))
  const { event_watermark } = await reins.sessions.get({ session_id: source.sessionId })
  const goal = event_watermark + large
  assert.strictEqual(event_watermark, 1, "a position in the workspace is a seq of its only session")
  const live = paths.flatMap((path) => upTo(readers).map(() => ({ path, seen: [] as number[] })))
  let heartbeats = 0
  const reading = Promise.all(
    live.map(({ path, seen }, index) =>
      readStream(source, {
        path,
        onBlock: ({ id, text }) => {
          if (id !== undefined) seen.push(Number(id))
          if (index === 0 && text === ": heartbeat") heartbeats += 1
          return seen.at(-1) !== goal + 1
        }
      })
    )
  )
  const before = resident()
  let most = before
  const content = "x".repeat(99_000)
  for (let index = 0; index < large; index++) {
    await reins.sessions.update({ session_id: source.sessionId, labels: { [`change ${index}`]: content } })
    most = Math.max(most, resident())
  }
  // The patience with it lasts for two heartbeats, and so does the time that it has to take the end of the stream.
  const until = heartbeats + 5
  await eventually("the fifth heartbeat", () => {
    most = Math.max(most, resident())
    return heartbeats >= until
  })
  process.stdout.write(
    `a server of ${before.toFixed(0)} MiB held at most ${most.toFixed(0)} MiB with ${sleeping.length} readers that slept through ${((large * content.length) / 2 ** 20).toFixed(0)} MiB\n`
  )
  assert.isBelow(most - before, 300)

  const ends = await Promise.all(sleeping.map(wake))
  for (const received of ends) assert.isBelow(received, large, "what was left was not kept for it")
  await reins.sessions.update({ session_id: source.sessionId, title: "the last" })
  await reading
  const all = upTo(goal + 1)
  for (const { path, seen } of live) assert.deepStrictEqual(seen, all, path)
  for (const path of paths) {
    const again: Array<number> = []
    await readStream(source, { path, onBlock: ({ id }) => id === undefined || again.push(Number(id)) <= goal })
    assert.deepStrictEqual(again, all, "the log has everything for one that comes back")
  }
})

/** Reads what had arrived until the connection ends, and tells how many events that were. */
const wake = (socket: Socket): Promise<number> =>
  new Promise((resolve) => {
    const blocksOf = blockReader()
    let events = 0
    socket.setEncoding("utf8")
    socket.on("data", (chunk: string) => {
      events += blocksOf(chunk).filter(({ text }) => /(^|\n)id: /.test(text)).length
    })
    socket.on("close", () => resolve(events))
    socket.resume()
  })
