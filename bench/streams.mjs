// Streams: many readers of one session, at full speed and at a steady pace. One of them does not read.
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { connect, install } from "./installation.mjs"
import { load, quantile, request } from "./load.mjs"
import { cpuSeconds } from "./processes.mjs"
import { eventsOf, openReaders, openReadersUntil } from "./readers.mjs"

const readers = 500

export const streams = async ({ report, settings }) => {
  report.subject(`Streams, ${readers} readers of one session`)
  const server = await (await install("streams")).start()
  await connect(server)
  await fullSpeed(server, report, settings)
  const session = await server.newSession()
  const alone = await steady(server, session.id, settings)
  report.figure("Delivery at 20 events/s, from sending the message: p99", alone.p99, "ms", { atMost: 60 })
  report.figure("Delivery at 20 events/s: p50", alone.p50, "ms")
  const beside = await steady(server, session.id, settings, { slow: true })
  report.figure("Delivery at 20 events/s beside a slow reader: p99", beside.p99, "ms", { atMost: 60 })
  await server.stop()
}

/** Sends notes as fast as the server takes them, and ends when every reader has the last one. */
const fullSpeed = async (server, report, settings) => {
  const session = await server.newSession()
  const note = server.sendNote(session.id)
  await load(server.url, { connections: 16, next: note.next, status: note.status, count: settings.warmUp })
  const last = `last-${randomUUID()}`
  const open = await openReadersUntil(server, eventsOf(session.id), readers, last)
  const count = 150 * settings.seconds
  const cpu = cpuSeconds(server.pid)
  const began = performance.now()
  await load(server.url, { connections: 16, next: note.next, status: note.status, count })
  await server.reins.messages.send({ session_id: session.id, content: last, routing: "note" })
  await open.allHave()
  const deliveries = (count + 1) * readers
  report.figure("Deliveries at full speed", deliveries / ((performance.now() - began) / 1000), "/s", {
    atLeast: 100_000
  })
  report.figure("CPU of a delivery at full speed", ((cpuSeconds(server.pid) - cpu) * 1e6) / deliveries, "us")
  open.close()
}

const mark = /sent at (\d+\.\d+) ms/g

/** Sends twenty notes a second, and measures from before each one is sent until each reader has it. */
const steady = async (server, sessionId, settings, { slow = false } = {}) => {
  const latencies = []
  const open = await openReaders(server, eventsOf(sessionId), readers, (chunk) => {
    const now = performance.now()
    for (const [, sent] of chunk.toString("latin1").matchAll(mark)) latencies.push(now - Number(sent))
  })
  const slowReader = slow ? await openReaders(server, eventsOf(sessionId), 1, () => {}) : undefined
  slowReader?.sockets[0].pause()
  const notes = 20 * Math.max(3, settings.seconds * 3)
  const began = performance.now()
  const sending = []
  for (let sent = 0; sent < notes; sent++) {
    await sleep(Math.max(0, began + sent * 50 - performance.now()))
    const content = `sent at ${performance.now().toFixed(3)} ms${slow ? ` ${"x".repeat(8000)}` : ""}`
    const message = request(
      "POST",
      `/api/sessions/${sessionId}/messages`,
      { ...server.headers, "Idempotency-Key": randomUUID() },
      JSON.stringify({ content, routing: "note" })
    )
    sending.push(
      load(server.url, { connections: 1, count: 1, status: server.sendNote("").status, next: () => message })
    )
  }
  await Promise.all(sending)
  const until = performance.now() + 10_000
  while (latencies.length < notes * readers && performance.now() < until) await sleep(20)
  if (latencies.length < notes * readers)
    throw new Error(`${notes * readers - latencies.length} deliveries are missing`)
  open.close()
  slowReader?.close()
  latencies.sort((a, b) => a - b)
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
}
