// The time from the start of the process until it is ready, beside the bare server, and the memory of a server when it is ready, with many
// sessions and streams, and after load.
import { setTimeout as sleep } from "node:timers/promises"
import { connect, install, startBaseline } from "./installation.mjs"
import { load, median } from "./load.mjs"
import { rssMb } from "./processes.mjs"
import { eventsOf, openReaders } from "./readers.mjs"

export const start = async ({ report, settings }) => {
  report.subject("Start and memory, SQLite")
  const installation = await install("start")
  const times = { reins: [], bare: [] }
  const ready = []
  for (let sample = 0; sample < settings.samples; sample++) {
    const baseline = await startBaseline()
    times.bare.push(baseline.readyMs)
    await baseline.stop()
    const server = await installation.start()
    times.reins.push(server.readyMs)
    await sleep(500)
    ready.push(rssMb(server.pid))
    await server.stop()
  }
  const of = { reins: median(times.reins), bare: median(times.bare) }
  report.note(
    `${settings.samples} starts each, in turns: reins ${of.reins.toFixed(0)} ms, bare ${of.bare.toFixed(0)} ms`
  )
  report.figure("Start to ready", of.reins, "ms", { atMost: 500 })
  report.figure("Start to ready, in starts of the bare server", of.reins / of.bare, "", { atMost: 4 })
  const isOld = Number.parseInt(process.versions.node, 10) < 24
  report.figure("Memory when ready (RSS)", median(ready), "MB", { atMost: isOld ? 120 : 150 })
  await memory(installation, report, settings)
}

const memory = async (installation, report, settings) => {
  const server = await installation.start()
  await connect(server)
  const create = server.createSession()
  await load(server.url, { connections: 8, next: create.next, status: create.status, count: 1000 })
  const session = await server.newSession()
  const open = await openReaders(server, eventsOf(session.id), 500, () => {})
  await sleep(1000)
  report.figure("Memory with 1,000 idle sessions and 500 streams", rssMb(server.pid), "MB", { atMost: 200 })
  open.close()
  const get = server.get(`/api/sessions/${session.id}`)
  const note = server.sendNote(session.id)
  for (const side of [get, create, note])
    await load(server.url, { connections: 32, next: side.next, status: side.status, seconds: settings.seconds * 3 })
  await sleep(2000)
  report.figure("Memory after a load test", rssMb(server.pid), "MB", { atMost: 220 })
  await server.stop()
}
