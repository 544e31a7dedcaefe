import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readlinkSync } from "node:fs"
import { Agent } from "node:http"
import { join } from "node:path"
import { processesOf, processesWhere, shown } from "@reins/testing/executor/Processes"
import { type Caller, newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { type ServerProcess, spawnServer, startServer } from "@reins/testing/process/ServerProcess"
import { allPages, beginTurn, endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, it } from "vitest"
import { agent } from "../Volume.js"
import { call, type Sent, startLoad } from "./RequestLoad.js"

const place = placeForEachTest()

/** A server with a turn whose agent runs a command that does not end. */
const startWithTurn = async (cmd?: string) => {
  const server = await startServer({ dataDir: place.dataDir, agent })
  const caller = await newCaller(server, place.dataDir, place.gateway)
  const client = caller.at(server)
  const session_id = await caller.newSession(client)
  return { server, caller, session_id, turn: await beginTurn(client, session_id, endlessTool(cmd), "tool.started") }
}

/** Reads a stream of events to its end: the last block of it. */
const lastBlock = async (url: string, apiKey: string, sessionId: string) => {
  const response = await fetch(`${url}/api/sessions/${sessionId}/events?max_seconds=600`, {
    headers: { authorization: `Bearer ${apiKey}`, accept: "text/event-stream" }
  })
  const text = response.text()
  return async () => (await text).trim().split("\n\n").at(-1)
}

const stop = async (server: ServerProcess, signal: NodeJS.Signals) => {
  const at = performance.now()
  server.kill(signal)
  const { code } = await server.ended
  return { at, code, ms: performance.now() - at }
}

/** The requests of a load that were neither answered as always, nor refused in words or by the closed port. */
const failuresOf = (sent: ReadonlyArray<Sent>, stoppedAt: number) =>
  sent.filter(({ connection, failure, sentAt, status, text }) => {
    if (failure === undefined && (status === 200 || status === 201)) return false
    if (sentAt !== undefined && sentAt < stoppedAt) return true
    if (failure === undefined) return !(status === 503 && connection === "close" && text.includes("shutting_down"))
    // Nothing was listening any more, or the listener ended in the moment of the connect: no word of an answer was lost.
    return !(failure === "ECONNREFUSED" || (failure === "ECONNRESET" && status === undefined))
  })

it("a stop under 200 requests a second fails none of them, ends streams and the turn in words, and loses nothing", async () => {
  const { caller, server, session_id, turn } = await startWithTurn()
  const { apiKey, workspaceId: workspace_id } = caller
  const streams = await Promise.all([1, 2, 3].map(() => lastBlock(server.url, apiKey, session_id)))
  const kept = new Agent({ keepAlive: true })
  await Promise.all([1, 2, 3].map(() => call(server.url, apiKey, { method: "GET", path: "/api/me" }, kept)))

  const projects = `/api/workspaces/${workspace_id}/projects`
  const load = startLoad(server.url, apiKey, 200, (index) =>
    index % 3 === 0
      ? { method: "POST", path: projects, body: { slug: `p-${index}`, name: `Project ${index}` } }
      : { method: "GET", path: index % 3 === 1 ? `/api/sessions/${session_id}` : `${projects}?limit=5` }
  )
  await eventually("600 requests are sent", () => load.sent() >= 600)
  const { at, code, ms } = await stop(server, "SIGTERM")
  const sent = await load.stop()
  kept.destroy()

  assert.deepStrictEqual(failuresOf(sent, at), [])
  assert.isAbove(sent.filter(({ status }) => status === 503).length, 0, "some came after the stop and were told of it")
  assert.strictEqual(code, 0)
  assert.isBelow(ms, 10_000)
  for (const block of streams)
    assert.match((await block()) ?? "", /^event: stream\.end\ndata: \{"reason":"shutdown","next_after":\d+\}$/)
  assert.isEmpty(processesOf(turn.lease_id))

  const next = caller.at(await startServer({ dataDir: place.dataDir, agent }))
  const { reason, state } = await next.turns.get({ turn_id: turn.turn_id })
  assert.deepStrictEqual([state, reason], ["interrupted", "service_restart"])
  const acknowledged = sent.filter(({ call, status }) => call.method === "POST" && status === 201)
  assert.isAbove(acknowledged.length, 0)
  const kept_projects = await allPages((page) => next.projects.list({ workspace_id, limit: 200, ...page }))
  const there = new Set(kept_projects.map(({ id }) => id))
  assert.deepStrictEqual(
    acknowledged.filter(({ text }) => !there.has(JSON.parse(text).id)),
    []
  )
})

const interrupted = ["interrupted", "service_restart"] as const

/** Holds that the next server finds the turn as expected, and is ready for the next one. */
const stateAfterRestart = async (caller: Caller, turnId: string) => {
  const server = await startServer({ dataDir: place.dataDir, agent })
  assert.strictEqual((await fetch(`${server.url}/readyz`)).status, 200)
  const { reason, state } = await caller.at(server).turns.wait({ turn_id: turnId })
  return [state, reason] as const
}

it("an agent that hears no signal is ended within the 10 s, and leaves no process", async () => {
  const { caller, server, turn } = await startWithTurn(`trap '' TERM INT HUP; tail -s 37 -f /dev/null`)
  for (const pid of processesOf(turn.lease_id)) process.kill(pid, "SIGSTOP")
  const { code, ms } = await stop(server, "SIGTERM")
  assert.strictEqual(code, 0)
  assert.isBelow(ms, 10_000)
  await eventually("no process is left", () => processesOf(turn.lease_id).length === 0)
  assert.deepStrictEqual(await stateAfterRestart(caller, turn.turn_id), interrupted)
})

it("one wish to stop that comes twice at once, as from a terminal and from npm, is still followed in order", async () => {
  const { caller, server, session_id, turn } = await startWithTurn()
  const stream = await lastBlock(server.url, caller.apiKey, session_id)
  server.kill("SIGINT")
  const { code } = await stop(server, "SIGINT")
  assert.strictEqual(code, 0)
  assert.include(await stream(), '"reason":"shutdown"')
  assert.isEmpty(processesOf(turn.lease_id))
  assert.deepStrictEqual(await stateAfterRestart(caller, turn.turn_id), interrupted)
})

it("a second signal ends it at once and says so in its status; agents go with it and the next start is clean", async () => {
  const { caller, server, turn } = await startWithTurn()
  // An agent that is frozen takes seconds to stop in order.
  for (const pid of processesOf(turn.lease_id)) process.kill(pid, "SIGSTOP")
  let end: { readonly code: number | null } | undefined
  void server.ended.then((ended) => {
    end = ended
  })
  await eventually("it ends", () => {
    server.kill("SIGTERM")
    return end
  })
  assert.strictEqual(end?.code, 128 + 15)
  await eventually("no process is left", () => processesOf(turn.lease_id).length === 0)
  assert.deepStrictEqual(await stateAfterRestart(caller, turn.turn_id), interrupted)
})

it("a stop while it starts ends it in time, whatever it was doing, and the next start is clean", async () => {
  const { caller, server, turn } = await startWithTurn()
  server.kill("SIGKILL")
  await server.ended
  const moments: ReadonlyArray<readonly [string, (pid: number) => boolean]> = [
    ["spawned", () => true],
    ["the data directory is taken", (pid) => isOpen(pid, join(place.dataDir, "server.lock"))],
    ["the database is open", (pid) => isOpen(pid, join(place.dataDir, "reins.db"))]
  ]
  for (const [name, isThere] of moments) {
    const starting = spawnServer({ dataDir: place.dataDir })
    const isOver = starting.ended.then(() => true as const)
    await Promise.race([isOver, eventually(name, () => isThere(starting.pid))])
    const at = performance.now()
    starting.kill("SIGTERM")
    const { code, signal } = await starting.ended
    assert.isBelow(performance.now() - at, 10_000, name)
    // Before the program is loaded nothing hears the signal but the kernel.
    assert.isTrue(code === 0 || signal === "SIGTERM", `${name}: ${code} ${starting.log()}`)
  }
  assert.deepStrictEqual(await stateAfterRestart(caller, turn.turn_id), interrupted)
})

const clone = join(import.meta.dirname, "../../../..")
const startCommand = () => ["npm", "start", "--", "--port", "0", "--data-dir", place.dataDir]

const starts: ReadonlyArray<
  readonly [string, () => { readonly child: ChildProcessWithoutNullStreams; readonly stop: () => void }]
> = [
  [
    "Ctrl-C in its terminal",
    () => {
      const child = spawn("script", ["-qec", startCommand().join(" "), "/dev/null"], { cwd: clone })
      return { child, stop: () => void child.stdin.write("\x03") }
    }
  ],
  [
    "SIGTERM",
    () => {
      const [command = "", ...args] = startCommand()
      const child = spawn(command, args, { cwd: clone })
      return { child, stop: () => void child.kill("SIGTERM") }
    }
  ]
]

for (const [name, start] of starts) {
  it(`npm start is stopped in order by ${name}, and leaves no server behind`, async () => {
    const { child, stop } = start()
    let output = ""
    child.stdout.on("data", (chunk) => {
      output += String(chunk)
    })
    const ended = once(child, "exit")
    const url = await eventually(`ready: ${output}`, () => /"event":"ready","url":"([^"]+)"/.exec(output)?.[1])
    const caller = await newCaller({ url }, place.dataDir)
    const stream = await lastBlock(url, caller.apiKey, await caller.newSession(caller.at({ url })))
    const servers = serversOf(place.dataDir)
    assert.isNotEmpty(servers)
    stop()
    await ended
    assert.include(await stream(), '"reason":"shutdown"')
    await eventually("no server is left", () => serversOf(place.dataDir).length === 0)
  })
}

/** True when a process has a file open. */
const isOpen = (pid: number, path: string): boolean => {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path)
  } catch {
    return false
  }
}

/** The processes of Node that were told to use a data directory. */
const serversOf = (directory: string): ReadonlyArray<number> =>
  processesWhere((pid) => {
    const [command = "", ...args] = shown(pid, "cmdline").split("\0")
    return /node$/.test(command) && args.includes(directory)
  })
