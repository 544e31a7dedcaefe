// The stream of a workspace with many sessions, beside the stream of one session in the same run.
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { connect, install } from "./installation.mjs"
import { load, median } from "./load.mjs"
import { cpuSeconds } from "./processes.mjs"
import { eventsOf, openReadersUntil } from "./readers.mjs"

const sessions = 1000
const readers = 50
const perSecond = 200

export const workspace = async ({ report, settings }) => {
  report.subject(`The stream of a workspace, ${sessions} sessions and ${readers} readers`)
  const server = await (await install("workspace")).start()
  await connect(server)
  const made = server.createSession()
  await load(server.url, { connections: 16, next: made.next, status: made.status, count: sessions })
  const ids = []
  for await (const { id } of server.reins.sessions.list({ workspace_id: server.workspaceId, limit: 100 })) ids.push(id)
  if (ids.length !== sessions) throw new Error(`there are ${ids.length} sessions`)
  const sides = {
    session: { log: eventsOf(ids[0]), ids: ids.slice(0, 1) },
    workspace: { log: `/api/workspaces/${server.workspaceId}/events`, ids }
  }
  const count = perSecond * settings.seconds
  const runs = { session: [], workspace: [] }
  for (const side of Object.values(sides)) await follow(server, side, count)
  // In turns, so that other work on the machine meets both.
  for (let round = 0; round < 2 * settings.rounds; round++)
    for (const [name, side] of Object.entries(sides))
      runs[name].push(((await follow(server, side, count)) * 1e6) / (count * readers))
  const [session, workspace] = [median(runs.session), median(runs.workspace)]
  report.figure("CPU of a delivery of a session, 50 readers, with its part of the change", session, "us")
  report.figure("CPU of a delivery of a workspace, 1,000 sessions, 50 readers", workspace, "us")
  report.figure("CPU of a delivery of a workspace, in those of a session", workspace / session, "", { atMost: 1.1 })
  await server.stop()
}

/** Changes the sessions in turn at a steady pace, and gives the CPU seconds until each of the readers has all of it. */
const follow = async (server, { ids, log }, count) => {
  const last = randomUUID()
  const open = await openReadersUntil(server, log, readers, last)
  const cpu = cpuSeconds(server.pid)
  const began = performance.now()
  const sending = []
  const send = (title) =>
    sending.push(server.reins.sessions.update({ session_id: ids[sending.length % ids.length], title }))
  while (sending.length < count - 1) {
    await sleep(Math.max(0, began + (sending.length * 1000) / perSecond - performance.now()))
    send(`title ${sending.length}`)
  }
  await Promise.all(sending)
  send(last)
  await open.allHave()
  const used = cpuSeconds(server.pid) - cpu
  open.close()
  return used
}
