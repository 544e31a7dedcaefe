// Several machines: what it costs a request that another node has the files, and what each further node costs the others.
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { connect, install } from "./installation.mjs"
import { inTurns } from "./load.mjs"
import { onDatabase } from "./postgres.mjs"
import { directory } from "./processes.mjs"

export const nodes = async ({ report, settings }) => {
  report.subject("Nodes on one PostgreSQL")
  await onDatabase(settings, async (databaseUrl) => {
    const installation = await install("node-a", {
      REINS_DATABASE_URL: databaseUrl.href,
      REINS_KEY_FILE: join(directory, "nodes-keyring.json"),
      // Nodes with disks of their own run agents where paths are the same on each, and nobody is mailed here.
      REINS_EXECUTOR: "bubblewrap",
      REINS_SMTP_URL: "smtp://127.0.0.1:9"
    })
    const start = async (name, disk) => {
      const port = await freePort()
      const address = `http://127.0.0.1:${port}`
      return installation.start({ REINS_NODE: name, REINS_NODE_ADDRESS: address, REINS_PORT: String(port) }, [], disk)
    }
    const servers = [await start("a"), await start("b", diskOf("b")), await start("c", diskOf("c"))]
    const [first, second, third] = servers
    await connect(first)
    await forwarding(servers, report, settings)
    // The first node is measured last when it is alone, so that a cold JIT does not make the others look cheap.
    const three = await costOf(first, settings)
    await third.stop()
    const two = await costOf(first, settings)
    await second.stop()
    const one = await costOf(first, settings)
    await first.stop()
    for (const [name, { get, note }] of Object.entries({ "One node": one, "Two nodes": two, "Three nodes": three })) {
      report.figure(`${name}: CPU of a GET of a session`, get.cpuMicros, "us")
      report.figure(`${name}: CPU of a note`, note.cpuMicros, "us")
    }
  })
}

const diskOf = (name) => join(directory, `node-${name}`)

/** A read and a commit at one node, while the others have nothing to do. */
const costOf = async (server, { rounds, seconds, warmUp }) => {
  const ids = await Promise.all(Array.from({ length: 64 }, async () => (await server.newSession()).id))
  const sides = { get: server.get(`/api/sessions/${ids[0]}`), note: server.sendNote(...ids) }
  return inTurns(sides, { connections: 32, rounds, seconds, warmUp: warmUp / 2 })
}

/** The same requests at the node that has the files and at another one, in turns. */
const forwarding = async (servers, report, { rounds, seconds, warmUp }) => {
  const [first] = servers
  const { id } = await first.newSession()
  await first.reins.sessions.uploadFile({ session_id: id, path: "a.txt", content: "a file", encoding: "utf-8" })
  const at = ["b", "c"].findIndex((name) => existsSync(join(diskOf(name), "sessions", id))) + 1
  const owner = servers[at]
  const other = servers.find((server) => server !== owner)
  const path = `/api/sessions/${id}/files/content?path=a.txt`
  const how = { connections: 1, rounds, seconds, warmUp: warmUp / 2 }
  const alone = async (title, sides) => {
    const measured = await inTurns(sides, how)
    for (const [name, { cpuMicros, p50, p99 }] of Object.entries(measured))
      report.note(
        `${name.padEnd(9)} p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(1)} ms  CPU of the node that is asked ${cpuMicros.toFixed(0)} us`
      )
    report.figure(`Forwarded ${title}: added p50`, measured.forwarded.p50 - measured.direct.p50, "ms", { atMost: 2 })
    report.figure(`Forwarded ${title}: CPU of the node that passes it on`, measured.forwarded.cpuMicros, "us")
  }
  await alone("read of a file", { direct: owner.get(path), forwarded: other.get(path) })
  // One that is taken is stored and sealed, which takes fifty times as long as its way and hides it.
  const refused = { refused: true }
  await alone("upload", { direct: owner.upload(id, refused), forwarded: other.upload(id, refused) })
  const many = await inTurns({ direct: owner.get(path), forwarded: other.get(path) }, { ...how, connections: 32 })
  report.figure(
    "Forwarded read of a file, 32 connections: share of the rate",
    many.forwarded.perSecond / many.direct.perSecond,
    ""
  )
}

const freePort = async () => {
  const probe = createServer()
  const port = await new Promise((resolve) => probe.listen(0, "127.0.0.1", () => resolve(probe.address().port)))
  await new Promise((resolve) => probe.close(resolve))
  return port
}
