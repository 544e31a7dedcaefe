// The cost of a turn late in a session beside that of an early one. Each turn makes twenty tool calls. One agent keeps no history of its own, so what
// grows with it is ours. The other one asks a model, and sends it the whole conversation each time, as agents do.
import { chmodSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { openSqlite } from "@reins/core/internal/store/SqliteDriver"
import { script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { now } from "./clock.mjs"
import { connect, install, root } from "./installation.mjs"
import { median } from "./load.mjs"
import { cpuSeconds, directory } from "./processes.mjs"
import { endOf, placeAgent } from "./turns.mjs"

const tools = 20
/** Turns that start the agent, warm the server up and fill a page, so that later pages have no more on them. */
const warmUp = 5
/** Turns that are measured at each place of the session. */
const measured = 5
const page = 100
const goal = { atMost: 1.2 }

export const history = async ({ report, settings }) => {
  const [middle, last] = settings.history
  report.subject(`Turn 1 of a session beside turns ${middle} and ${last}, ${tools} tool calls each, SQLite`)
  const gateway = await startGateway()
  try {
    const own = await alongSession(silentAgent, gateway, settings, settings.history)
    // The whole conversation goes to the gateway twenty times in each turn, so that 200 turns would take an hour.
    const told = await alongSession(talkingAgent, gateway, settings, [middle])
    const [first, ...later] = own
    report.note(`turn 1 of an agent without a history: ${shown(first)}`)
    for (const at of later) {
      report.note(`turn ${at.turn}: ${shown(at)}`)
      const ratio = (what, field, how = goal) =>
        report.figure(`Turn ${at.turn} of a session, in turn 1: ${what}`, at[field] / first[field], "", how)
      ratio("time", "time")
      ratio("CPU of the server", "cpu")
      ratio("bytes of the database", "stored")
      ratio("time of a page load", "load")
      ratio("bytes of a page load", "loaded")
      ratio("time to read the last turn", "read")
      ratio("bytes of the last turn", "bytes")
    }
    const [begun, ...gone] = told
    report.note(`turn 1 of an agent with a model: ${shown(begun)}`)
    for (const at of gone) {
      report.note(`turn ${at.turn}: ${shown(at)}`)
      report.figure(`Turn ${at.turn} of an agent with a model, in turn 1: time`, at.time / begun.time, "")
      report.figure(`Turn ${at.turn} of an agent with a model, in turn 1: CPU of the server`, at.cpu / begun.cpu, "")
      report.figure(
        `Turn ${at.turn} of an agent with a model, in turn 1: bytes of the database`,
        at.stored / begun.stored,
        "",
        goal
      )
    }
  } finally {
    await gateway.close()
  }
}

const shown = ({ bytes, cpu, load, loaded, read, stored, time }) =>
  `${time.toFixed(0)} ms, ${cpu.toFixed(0)} ms of CPU, ${kilobytes(stored)} of database, page ${load.toFixed(1)} ms and ` +
  `${kilobytes(loaded)}, last turn ${read.toFixed(1)} ms and ${kilobytes(bytes)}`

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(0)} kB`

const here = dirname(fileURLToPath(import.meta.url))

const withProgram = (name, words) => {
  const { cacheDir, executable } = placeAgent(name)
  writeFileSync(executable, `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(" ")}\n`)
  chmodSync(executable, 0o755)
  return cacheDir
}

/** An agent that calls its tools without a model. */
const silentAgent = {
  name: "history-silent",
  cacheDir: () =>
    withProgram("silent-agents", [
      process.execPath,
      join(here, "agent.mjs"),
      join(directory, "history-marks"),
      String(tools)
    ]),
  message: "Work."
}

/** An agent that asks the gateway, and runs the tools that the script says. */
const talkingAgent = {
  name: "history-talking",
  cacheDir: () =>
    withProgram("talking-agents", [process.execPath, join(root, "packages/testing/src/harness/small-agent.cjs")]),
  message: script("Work.", ...Array.from({ length: tools }, () => ({ tool: "bash", cmd: "echo done" })), {
    say: "Done."
  })
}

/** Takes a session through its turns, and measures at its beginning and at the later turns. */
const alongSession = async ({ cacheDir, message, name }, gateway, settings, later) => {
  const installation = await install(name, { REINS_CACHE_DIR: cacheDir(), REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1" })
  const server = await installation.start()
  await connect(server, gateway.url, "bench-key")
  const { id } = await server.newSession({})
  const database = () => sizeOf(join(installation.dataDir, "reins.db"))
  const turns = async (count) => {
    const times = []
    for (let at = 0; at < count; at++) times.push(await turn(server, id, message))
    return times
  }
  await turns(warmUp)
  let done = 0
  const found = []
  for (const wanted of [1, ...later]) {
    await turns(wanted - 1 - done)
    const [stored, cpu] = [database(), cpuSeconds(server.pid)]
    const times = await turns(measured)
    done = wanted - 1 + measured
    found.push({
      turn: wanted,
      time: median(times.map(({ time }) => time)),
      cpu: ((cpuSeconds(server.pid) - cpu) * 1000) / measured,
      stored: (database() - stored) / measured,
      ...(await reading(server, id, times.at(-1), settings))
    })
  }
  await server.stop()
  return found
}

const turn = async (server, session_id, content) => {
  const { event_watermark: after } = await server.reins.sessions.get({ session_id })
  const ending = endOf(server.reins.sessions.stream({ session_id, after }))
  const sent = now()
  const { turn_id } = await server.reins.messages.send({ session_id, content })
  return { time: (await ending) - sent, turn_id, after }
}

/** Bytes in the pages of a database that are in use. */
const sizeOf = (path) => {
  const db = openSqlite(path)
  const of = (name) => db.pragma(name, { simple: true })
  const bytes = (of("page_count") - of("freelist_count")) * of("page_size")
  db.close()
  return bytes
}

/** Loads the page of a session, and reads its last turn with its events to their end. */
const reading = async (server, id, { after, turn_id }, settings) => {
  const { event_watermark } = await server.reins.sessions.get({ session_id: id })
  const session = `/api/sessions/${id}`
  const shownPage = [
    session,
    `${session}/events?after=${event_watermark - page}&limit=${page}`,
    `${session}/turns?limit=${warmUp}`
  ]
  const lastTurn = [`/api/turns/${turn_id}`, `${session}/events?after=${after}&turn_id=${turn_id}&limit=500`]
  const answers = async (paths) => {
    const times = []
    let bytes = 0
    for (let sample = 0; sample < 20 * settings.samples; sample++) {
      const begun = performance.now()
      const texts = await Promise.all(
        paths.map(async (path) => {
          const answer = await fetch(server.url + path, { headers: server.headers })
          if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
          return answer.text()
        })
      )
      times.push(performance.now() - begun)
      bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    }
    return { time: median(times), bytes }
  }
  const [load, read] = [await answers(shownPage), await answers(lastTurn)]
  return { load: load.time, loaded: load.bytes, read: read.time, bytes: read.bytes }
}
