// The time of a call of a tool of the service, as its agent sees it, and what the offer of tools adds to a turn.
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { median, quantile } from "./load.mjs"
import { directory } from "./processes.mjs"
import { installAgent, serverWith, turn } from "./turns.mjs"

/** The calls of a turn, and the turns at once. */
const callsOfTurn = 40
const turnsAtOnce = 8

export const tools = async ({ report, settings }) => {
  report.subject("Tools of the service, SQLite, with an agent that calls them")
  const marks = join(directory, "tool-marks")
  await calls(report, marks)
  await offers({ report, settings }, marks)
}

const calls = async (report, marks) => {
  const cacheDir = installAgent(marks, "calling-agents", `0 ${callsOfTurn}`)
  const server = await serverWith("tools", { REINS_CACHE_DIR: cacheDir, REINS_MAX_RUNNING_TURNS: String(turnsAtOnce) })
  const sessions = []
  for (let count = 0; count < turnsAtOnce; count++) sessions.push(await server.newSession({}))
  const run = (session) => server.reins.run({ session_id: session.id, content: "Call them." }).final()
  await Promise.all(sessions.map(run))
  rmSync(marks, { force: true })
  await Promise.all(sessions.map(run))
  const times = readFileSync(marks, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("lent "))
    .map((line) => Number(line.slice("lent ".length)))
    .sort((one, other) => one - other)
  report.figure(`A call of a tool, ${turnsAtOnce} turns at once: p99`, quantile(times, 0.99), "ms", { atMost: 15 })
  report.figure(`A call of a tool, ${turnsAtOnce} turns at once: p50`, median(times), "ms")
  await server.stop()
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
