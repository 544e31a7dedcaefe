import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs"
import { Agent } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { afterEach, assert, beforeEach, expect, it } from "vitest"
import { type Gateway, startGateway } from "../../../examples/scripted-gateway/gateway.mjs"
import { call, type Sent, startLoad } from "./RequestLoad.js"
import { agentProcesses, killServers, newKey, type ServerProcess, spawnServer, startServer } from "./ServerProcess.js"
import { eventually } from "./Waiting.js"

let dataDir: string
let gateway: Gateway

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "reins-drain-"))
  gateway = await startGateway()
})
afterEach(async () => {
  killServers()
  await gateway.close()
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

const harness = { provider_id: "alpha", model: "scripted-1" } as const

const connectGateway = (client: Reins, workspace_id: string) =>
  client.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: gateway.url, api_key: "k" }
  })

/** A turn whose agent runs a command that does not end. */
const startTurn = async (client: Reins, workspace_id: string, cmd = "tail -s 37 -f /dev/null") => {
  await connectGateway(client, workspace_id)
  const session = await client.sessions.create({ workspace_id, harness })
  const steps = [{ tool: "bash", cmd }, { say: "never" }]
  const sent = await client.messages.send({ session_id: session.id, content: `Go. SCRIPT:${JSON.stringify(steps)}` })
  for await (const event of client.sessions.stream({ session_id: session.id })) if (event.type === "tool.started") break
  const { lease_id } = (await client.sessions.get({ session_id: session.id })).executor
  return { session_id: session.id, turn_id: sent.turn_id ?? "", lease_id: lease_id ?? "" }
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

/** What of a load was neither answered as always, nor refused in words or by the closed port. */
const failuresOf = (sent: ReadonlyArray<Sent>, stoppedAt: number) =>
  sent.filter(({ connection, failure, sentAt, status, text }) => {
    if (failure === undefined && (status === 200 || status === 201)) return false
    if (sentAt !== undefined && sentAt < stoppedAt) return true
    if (failure === undefined) return !(status === 503 && connection === "close" && text.includes("shutting_down"))
    // Nothing was listening any more, or the listener ended in the moment of the connect: no word of an answer was lost.
    return !(failure === "ECONNREFUSED" || (failure === "ECONNRESET" && status === undefined))
  })

it("a stop under 200 requests a second fails none of them, ends streams and the turn in words, and loses nothing", async () => {
  const server = await startServer({ dataDir })
  const apiKey = newKey(dataDir)
  const client = new Reins({ baseUrl: server.url, apiKey })
  const workspace_id = (await client.accounts.me()).workspaces[0]?.id ?? ""
  const turn = await startTurn(client, workspace_id)
  const streams = await Promise.all([1, 2, 3].map(() => lastBlock(server.url, apiKey, turn.session_id)))
  const kept = new Agent({ keepAlive: true })
  await Promise.all([1, 2, 3].map(() => call(server.url, apiKey, { method: "GET", path: "/api/me" }, kept)))

  const projects = `/api/workspaces/${workspace_id}/projects`
  const load = startLoad(server.url, apiKey, 200, (index) =>
    index % 3 === 0
      ? { method: "POST", path: projects, body: { slug: `p-${index}`, name: `Project ${index}` } }
      : { method: "GET", path: index % 3 === 1 ? `/api/sessions/${turn.session_id}` : `${projects}?limit=5` }
  )
  await eventually("600 requests are sent", () => (load.sent() >= 600 ? true : undefined))
  const { at, code, ms } = await stop(server, "SIGTERM")
  const sent = await load.stop()
  kept.destroy()

  assert.deepStrictEqual(failuresOf(sent, at), [])
  assert.isAbove(sent.filter(({ status }) => status === 503).length, 0, "some came after the stop and were told of it")
  assert.strictEqual(code, 0)
  assert.isBelow(ms, 10_000)
  for (const block of streams)
    expect(await block()).toMatch(/^event: stream\.end\ndata: \{"reason":"shutdown","next_after":\d+\}$/)
  assert.isEmpty(agentProcesses(turn.lease_id))

  const next = new Reins({ baseUrl: (await startServer({ dataDir })).url, apiKey })
  const { reason, state } = await next.turns.get({ turn_id: turn.turn_id })
  assert.deepStrictEqual([state, reason], ["interrupted", "service_restart"])
  const acknowledged = sent.filter(({ call, status }) => call.method === "POST" && status === 201)
  assert.isAbove(acknowledged.length, 0)
  const there = new Set<string>()
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await next.projects.list({ workspace_id, limit: 200, ...(cursor !== undefined && { cursor }) })
    for (const { id } of page.items) there.add(id)
    cursor = page.next_cursor
  }
  assert.deepStrictEqual(
    acknowledged.filter(({ text }) => !there.has(JSON.parse(text).id)),
    []
  )
})

const interrupted = ["interrupted", "service_restart"] as const

/** A server with a running turn, and a client of it. */
const startWithTurn = async (cmd?: string) => {
  const server = await startServer({ dataDir })
  const apiKey = newKey(dataDir)
  const client = new Reins({ baseUrl: server.url, apiKey })
  const workspace_id = (await client.accounts.me()).workspaces[0]?.id ?? ""
  return { server, apiKey, turn: await startTurn(client, workspace_id, cmd) }
}

/** How the next server finds the turn, and that it is ready for the next one. */
const stateAfterRestart = async (apiKey: string, turnId: string) => {
  const server = await startServer({ dataDir })
  const client = new Reins({ baseUrl: server.url, apiKey })
  assert.strictEqual((await fetch(`${server.url}/readyz`)).status, 200)
  const { reason, state } = await client.turns.wait({ turn_id: turnId })
  return [state, reason] as const
}

it("an agent that hears no signal is ended within the 10 s, and leaves no process", async () => {
  const { apiKey, server, turn } = await startWithTurn(`trap '' TERM INT HUP; tail -s 37 -f /dev/null`)
  for (const pid of agentProcesses(turn.lease_id)) process.kill(pid, "SIGSTOP")
  const { code, ms } = await stop(server, "SIGTERM")
  assert.strictEqual(code, 0)
  assert.isBelow(ms, 10_000)
  await eventually("no process is left", () => (agentProcesses(turn.lease_id).length === 0 ? true : undefined))
  assert.deepStrictEqual(await stateAfterRestart(apiKey, turn.turn_id), interrupted)
})

it("one wish to stop that comes twice at once, as from a terminal and from npm, is still followed in order", async () => {
  const { apiKey, server, turn } = await startWithTurn()
  const stream = await lastBlock(server.url, apiKey, turn.session_id)
  server.kill("SIGINT")
  const { code } = await stop(server, "SIGINT")
  assert.strictEqual(code, 0)
  expect(await stream()).toContain('"reason":"shutdown"')
  assert.isEmpty(agentProcesses(turn.lease_id))
  assert.deepStrictEqual(await stateAfterRestart(apiKey, turn.turn_id), interrupted)
})

it("a second signal ends it at once and says so in its status; agents go with it and the next start is clean", async () => {
  const { apiKey, server, turn } = await startWithTurn()
  // An agent that is frozen takes seconds to stop in order.
  for (const pid of agentProcesses(turn.lease_id)) process.kill(pid, "SIGSTOP")
  let end: { readonly code: number | null } | undefined
  void server.ended.then((ended) => {
    end = ended
  })
  await eventually("it ends", () => {
    server.kill("SIGTERM")
    return end
  })
  assert.strictEqual(end?.code, 128 + 15)
  await eventually("no process is left", () => (agentProcesses(turn.lease_id).length === 0 ? true : undefined))
  assert.deepStrictEqual(await stateAfterRestart(apiKey, turn.turn_id), interrupted)
})

it("a stop while it starts ends it in time, whatever it was doing, and the next start is clean", async () => {
  const { apiKey, server, turn } = await startWithTurn()
  server.kill("SIGKILL")
  await server.ended
  const moments: ReadonlyArray<readonly [string, (pid: number) => boolean]> = [
    ["spawned", () => true],
    ["the data directory is taken", (pid) => isOpen(pid, join(dataDir, "server.lock"))],
    ["the database is open", (pid) => isOpen(pid, join(dataDir, "reins.db"))]
  ]
  for (const [name, isThere] of moments) {
    const starting = spawnServer({ dataDir })
    const isOver = starting.ended.then(() => true as const)
    await Promise.race([isOver, eventually(name, () => (isThere(starting.pid) ? true : undefined))])
    const at = performance.now()
    starting.kill("SIGTERM")
    const { code, signal } = await starting.ended
    assert.isBelow(performance.now() - at, 10_000, name)
    // Before the program is loaded nothing hears the signal but the kernel.
    assert.isTrue(code === 0 || signal === "SIGTERM", `${name}: ${code} ${starting.log()}`)
  }
  assert.deepStrictEqual(await stateAfterRestart(apiKey, turn.turn_id), interrupted)
})

const clone = join(import.meta.dirname, "../../..")
const startCommand = () => ["npm", "start", "--", "--port", "0", "--data-dir", dataDir]

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
    const ended = new Promise((resolve) => child.once("exit", resolve))
    const url = await eventually(`ready: ${output}`, () => /"event":"ready","url":"([^"]+)"/.exec(output)?.[1])
    const apiKey = newKey(dataDir)
    const client = new Reins({ baseUrl: url, apiKey })
    const workspace_id = (await client.accounts.me()).workspaces[0]?.id ?? ""
    await connectGateway(client, workspace_id)
    const session = await client.sessions.create({ workspace_id, harness })
    const stream = await lastBlock(url, apiKey, session.id)
    const servers = serversOf(dataDir)
    assert.isNotEmpty(servers)
    stop()
    await ended
    expect(await stream()).toContain('"reason":"shutdown"')
    await eventually("no server is left", () => (serversOf(dataDir).length === 0 ? true : undefined))
  })
}

/** Whether a process has a file open. */
const isOpen = (pid: number, path: string): boolean => {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path)
  } catch {
    return false
  }
}

/** The processes of Node that were told to use a data directory. */
const serversOf = (directory: string): ReadonlyArray<string> =>
  readdirSync("/proc").filter((pid) => {
    try {
      const [command = "", ...args] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
      return /node$/.test(command) && args.includes(directory)
    } catch {
      return false
    }
  })
