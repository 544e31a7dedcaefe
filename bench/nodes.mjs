// Several machines: what it costs a request that another node has the files.
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { connect, install } from "./installation.mjs"
import { inTurns } from "./load.mjs"
import { onDatabase } from "./postgres.mjs"
import { directory } from "./processes.mjs"

export const nodes = async ({ report, settings }) => {
  report.subject("Two nodes on one PostgreSQL")
  await onDatabase(settings, async (databaseUrl) => {
    const keys = join(directory, "nodes-keyring.json")
    const installation = install("node-a", { REINS_DATABASE_URL: databaseUrl.href, REINS_KEY_FILE: keys })
    const start = async (name, disk) => {
      const port = await freePort()
      const address = `http://127.0.0.1:${port}`
      return installation.start({ REINS_NODE: name, REINS_NODE_ADDRESS: address, REINS_PORT: String(port) }, [], disk)
    }
    const disk = join(directory, "node-b")
    const servers = [await start("a"), await start("b", disk)]
    const [first] = servers
    await connect(first)
    const { id } = await first.newSession()
    await first.reins.sessions.uploadFile({ session_id: id, path: "a.txt", content: "a file", encoding: "utf-8" })
    const isOnB = existsSync(join(disk, "sessions", id))
    const [owner, other] = isOnB ? [...servers].reverse() : servers
    const path = `/api/sessions/${id}/files/content?path=a.txt`
    const sides = { direct: owner.get(path), forwarded: other.get(path) }
    const { rounds, seconds, warmUp } = settings
    const one = await inTurns(sides, { connections: 1, rounds, seconds, warmUp: warmUp / 2 })
    for (const [name, { cpuMicros, p50, p99 }] of Object.entries(one))
      report.note(
        `${name.padEnd(9)} p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(1)} ms  CPU of that node ${cpuMicros.toFixed(0)} us`
      )
    report.figure("Forwarded read of a file: added p50", one.forwarded.p50 - one.direct.p50, "ms", { atMost: 2 })
    const many = await inTurns(sides, { connections: 32, rounds, seconds, warmUp: warmUp / 2 })
    report.figure(
      "Forwarded read of a file, 32 connections: share of the rate",
      many.forwarded.perSecond / many.direct.perSecond,
      ""
    )
    await Promise.all(servers.map((server) => server.stop()))
  })
}

const freePort = async () => {
  const probe = createServer()
  const port = await new Promise((resolve) => probe.listen(0, "127.0.0.1", () => resolve(probe.address().port)))
  await new Promise((resolve) => probe.close(resolve))
  return port
}
