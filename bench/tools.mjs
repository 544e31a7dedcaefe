// The time of a call of a tool of the service, as its agent sees it, and what the offer of tools adds to a turn.
import { spawn } from "node:child_process"
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { startBaseline } from "./installation.mjs"
import { median, quantile } from "./load.mjs"
import { cpuSeconds, directory, rssMb, track } from "./processes.mjs"
import { installAgent, serverWith, turn } from "./turns.mjs"

/** The calls of a turn, and the turns at once. */
const callsOfTurn = 100
const turnsAtOnce = 8

/** Models take longer than this between two calls. */
const pauseMs = 100

export const tools = async ({ report, settings }) => {
  report.subject("Tools of the service, SQLite, with an agent that calls them")
  const marks = join(directory, "tool-marks")
  await calls(report, marks)
  await openCalls(report, marks)
  await offers({ report, settings }, marks)
}

const calls = async (report, marks) => {
  const cacheDir = installAgent(marks, "calling-agents", `0 ${callsOfTurn}`)
  const server = await serverWith("tools", { REINS_CACHE_DIR: cacheDir, REINS_MAX_RUNNING_TURNS: String(turnsAtOnce) })
  const sessions = []
  for (let count = 0; count < turnsAtOnce; count++) sessions.push(await server.newSession({}))
  const run = (content) => Promise.all(sessions.map(({ id }) => server.reins.run({ session_id: id, content }).final()))
  const { cpuMs, hurried, paced } = await timesOf({ run, pid: server.pid }, marks)
  const bare = await bareCalls(marks)
  const [bareP99, bareP50] = [quantile(bare.paced, 0.99), median(bare.paced)]
  const syncs = syncTimes()
  const turns = `A call of a tool, ${turnsAtOnce} turns at once`
  report.figure(`${turns}, about ${pauseMs} ms apart: p99`, quantile(paced, 0.99), "ms", { atMost: 15 })
  report.figure(`${turns}, about ${pauseMs} ms apart: p50`, median(paced), "ms")
  report.figure(`${turns}, without a pause: p99`, quantile(hurried, 0.99), "ms", { atMost: 15 })
  report.figure(`${turns}, without a pause: p50`, median(hurried), "ms")
  report.figure("The same, about 100 ms apart, in the bare server's p99", quantile(paced, 0.99) / bareP99, "")
  report.figure("The same, about 100 ms apart, in the bare server's p50", median(paced) / bareP50, "")
  report.figure("A call of a tool, with its share of the turn: CPU of the server", cpuMs, "ms")
  report.note(
    `the bare server: p99 ${bareP99.toFixed(1)} ms, p50 ${bareP50.toFixed(1)} ms, CPU ${bare.cpuMs.toFixed(2)} ms`
  )
  report.figure("A write of 4 KB to the disk: p99", quantile(syncs, 0.99), "ms")
  await server.stop()
}

/** The times of the calls of eight agents with a server, in order, and its CPU for each. `run` has all of them do what a message says. */
const timesOf = async ({ pid, run }, marks) => {
  const timesWith = async (content) => {
    rmSync(marks, { force: true })
    const begun = cpuSeconds(pid)
    await run(content)
    const cpu = cpuSeconds(pid) - begun
    const times = readFileSync(marks, "utf8")
      .split("\n")
      .filter((line) => line.startsWith("lent "))
      .map((line) => Number(line.slice("lent ".length)))
      .sort((one, other) => one - other)
    return { times, cpuMs: (cpu * 1000) / times.length }
  }
  // The first ones start the agents and compile the server.
  for (let round = 0; round < 3; round++) await timesWith("Call them.")
  const hurried = await timesWith("Call them.")
  const paced = await timesWith(`Call them. Pause ${pauseMs} ms.`)
  return { hurried: hurried.times, paced: paced.times, cpuMs: hurried.cpuMs }
}

/** The same agents with the bare server, which writes a call down twice. It shows what the machine takes for a call after a pause. */
const bareCalls = async (marks) => {
  const server = await startBaseline()
  const headers = [{ name: "authorization", value: "Bearer baseline-key" }]
  const agents = Array.from({ length: turnsAtOnce }, () => {
    const program = fileURLToPath(new URL("agent.mjs", import.meta.url))
    const child = track(spawn(process.execPath, [program, marks, "0", String(callsOfTurn)], { stdio: "pipe" }))
    const lines = createInterface({ input: child.stdout })
    let id = 0
    const ask = (method, params) =>
      new Promise((resolve) => {
        const own = ++id
        const hear = (line) => {
          if (JSON.parse(line).id !== own) return
          lines.off("line", hear)
          resolve()
        }
        lines.on("line", hear)
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: own, method, params })}\n`)
      })
    return { ask, end: () => child.stdin.end() }
  })
  const mcpServers = [{ url: `${server.url}/sessions/one/calls`, headers }]
  await Promise.all(agents.map(({ ask }) => ask("session/new", { mcpServers })))
  const prompt = (text) => ({ sessionId: "s1", prompt: [{ text }] })
  const run = (text) => Promise.all(agents.map(({ ask }) => ask("session/prompt", prompt(text))))
  const times = await timesOf({ run, pid: server.pid }, marks)
  for (const { end } of agents) end()
  await server.stop()
  return times
}

/** The times of writes that reach the disk, as each commit makes one, in order. */
const syncTimes = () => {
  const file = openSync(join(directory, "syncs"), "w")
  const page = Buffer.alloc(4096, 1)
  const times = Array.from({ length: 300 }, () => {
    const begun = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    return performance.now() - begun
  })
  closeSync(file)
  return times.sort((one, other) => one - other)
}

/** The calls of functions that wait for an answer, and the sessions that make them. */
const callsOpen = 64
const sessionsOfCalls = 8

/** The memory that calls take which wait for whoever has the function. */
const openCalls = async (report, marks) => {
  const cacheDir = installAgent(marks, "waiting-agents", `0 ${callsOpen / sessionsOfCalls} open`)
  const server = await serverWith("open-calls", {
    REINS_CACHE_DIR: cacheDir,
    REINS_MAX_RUNNING_TURNS: String(sessionsOfCalls)
  })
  const { reins } = server
  const sessions = []
  for (let count = 0; count < sessionsOfCalls; count++) sessions.push(await server.newSession({}))
  const openIn = async ({ id: session_id }) =>
    (await reins.interactions.list({ session_id, state: "pending", limit: 100 })).items
  /** Sends a message to each session, and gives the memory once so many calls of each are open. */
  const memoryWith = async (calls) => {
    const content = `Call ${calls}.`
    for (const { id: session_id } of sessions)
      await reins.messages.send({ session_id, content, tools: { functions: [lookup] } })
    for (const session of sessions) while ((await openIn(session)).length < calls) await setTimeout(50)
    const mb = rssMb(server.pid)
    for (const session of sessions)
      for (const { id } of await openIn(session))
        await reins.interactions.answer({ interaction_id: id, result: "Found." })
    for (const { id } of sessions)
      while ((await reins.sessions.get({ session_id: id })).activity !== "idle") await setTimeout(50)
    return mb
  }
  // The first turns load what calls need, and start the agents.
  await memoryWith(1)
  await memoryWith(1)
  const idle = rssMb(server.pid)
  const many = await memoryWith(callsOpen / sessionsOfCalls)
  report.figure(`Memory of ${callsOpen} open calls of functions`, many - idle, "MB", { atMost: 30 })
  await server.stop()
}

const lookup = {
  name: "lookup_ticket",
  description: "Looks a ticket up.",
  input_schema: { type: "object", properties: { ticket: { type: "integer" } } }
}

/** Turns that start their agent each, of a session that is offered tools and of one that is offered none. */
const offers = async ({ report, settings }, marks) => {
  const cacheDir = installAgent(marks, "offered-agents")
  const server = await serverWith("offers", { REINS_CACHE_DIR: cacheDir, REINS_AGENT_IDLE_MINUTES: "0" })
  const { reins, workspaceId } = server
  const project = await reins.projects.create({ workspace_id: workspaceId, slug: "without", name: "Without tools" })
  await reins.projects.publish({ project_id: project.id, spec: { tools: { own: [] } } })
  const sides = { with: await server.newSession({}), without: await server.newSession({ project_id: project.id }) }
  const times = { with: [], without: [] }
  for (let sample = 0; sample <= 2 * settings.samples; sample++)
    for (const side of ["with", "without"]) {
      const { toPrompt } = await turn(server, sides[side].id, marks)
      // The first offer loads the library.
      if (sample > 0) times[side].push(toPrompt)
    }
  const more = median(times.with) - median(times.without)
  report.figure("From a message to the prompt, more with tools than without", more, "ms", { atMost: 50 })
  await server.stop()
}
