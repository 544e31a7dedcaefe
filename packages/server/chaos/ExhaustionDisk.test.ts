import { spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins, ReinsApiError } from "@reins/client"
import { afterEach, assert, beforeEach, it } from "vitest"
import { type Gateway, startGateway } from "../../../examples/scripted-gateway/gateway.mjs"
import { agentProcesses, killServers, newKey, published, reins, startServer } from "./ServerProcess.js"
import { eventually } from "./Waiting.js"

/** A small file system of its own in a file, and the data directory on it. */
let image: string
let mountPoint: string
let dataDir: string
let gateway: Gateway

const mount = (...args: ReadonlyArray<string>) => {
  const { status, stderr } = spawnSync("mount", [...args], { encoding: "utf8" })
  assert.strictEqual(status, 0, stderr)
}

beforeEach(async () => {
  mountPoint = mkdtempSync(join(tmpdir(), "reins-disk-"))
  image = `${mountPoint}.img`
  writeFileSync(image, "")
  truncateSync(image, 128 * 1024 * 1024)
  assert.strictEqual(spawnSync("mkfs.ext4", ["-q", "-F", "-m", "0", image]).status, 0)
  mount("-o", "loop", image, mountPoint)
  dataDir = join(mountPoint, "data")
  gateway = await startGateway()
})
afterEach(async () => {
  killServers()
  await gateway.close()
  await eventually("the file system is free", () => (spawnSync("umount", [mountPoint]).status === 0 ? true : undefined))
  rmSync(mountPoint, { recursive: true, force: true })
  rmSync(image, { force: true })
})

const ballast = () => join(mountPoint, "ballast")

/** Takes the last byte of the file system. */
const fill = () => {
  for (let size = 8 * 1024 * 1024, count = 0; size >= 1; count++) {
    const { bavail, bsize } = statfsSync(mountPoint)
    if (bavail * bsize < size && size > 1) {
      size = Math.floor(size / 2)
      continue
    }
    try {
      writeFileSync(`${ballast()}-${count}`, Buffer.alloc(size))
    } catch {
      if (size === 1) return
      size = Math.floor(size / 2)
    }
    if (size === 1 && statfsSync(mountPoint).bavail === 0) return
  }
}

const free = () => {
  for (const name of readdirSync(mountPoint)) if (name.startsWith("ballast-")) rmSync(join(mountPoint, name))
}

const readiness = async (url: string) => {
  const response = await fetch(`${url}/readyz`)
  return { status: response.status, body: await response.json() }
}

/** The error that a call is refused with. */
const refusal = async (call: Promise<unknown>) => {
  try {
    await call
  } catch (error) {
    if (error instanceof ReinsApiError) return error
    throw error
  }
  throw new Error("It was not refused.")
}

const start = async () => {
  const server = await startServer({ dataDir })
  const apiKey = newKey(dataDir)
  const client = new Reins({ baseUrl: server.url, apiKey, maxRetries: 0 })
  const workspace_id = (await client.accounts.me()).workspaces[0]?.id ?? ""
  await client.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: gateway.url, api_key: "k" }
  })
  const newSession = () =>
    client.sessions.create({ workspace_id, harness: { provider_id: "alpha", model: "scripted-1" } })
  return { server, client, workspace_id, newSession }
}

const isDiskFull = ({ code, details, retryable, status }: ReinsApiError) => {
  assert.deepStrictEqual([status, code, retryable], [503, "waiting_capacity", true])
  assert.deepStrictEqual(details, { reason: "disk_full" })
}

const lines = (log: string): ReadonlyArray<string> =>
  log
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).message)

it("a full disk refuses writes in words, loses nothing, and everything goes on without a restart once there is room", async () => {
  const { client, newSession, server, workspace_id } = await start()
  const running = await newSession()
  const steps = [{ tool: "bash", cmd: "tail -s 37 -f /dev/null" }, { say: "never" }]
  const sent = await client.messages.send({ session_id: running.id, content: `Go. SCRIPT:${JSON.stringify(steps)}` })
  for await (const event of client.sessions.stream({ session_id: running.id })) if (event.type === "tool.started") break
  const lease = (await client.sessions.get({ session_id: running.id })).executor.lease_id ?? ""
  const other = await newSession()
  await client.sessions.uploadFile({ session_id: other.id, path: "before.txt", content: "kept" })

  fill()
  const acknowledged: Array<string> = []
  const refused = await eventually("a write is refused", async () => {
    const create = client.projects.create({ workspace_id, slug: `p-${acknowledged.length}`, name: "P" })
    const error = await create.then(
      ({ id }) => void acknowledged.push(id),
      (reason: unknown) => reason
    )
    return error instanceof ReinsApiError ? error : undefined
  })
  isDiskFull(refused)
  isDiskFull(
    await refusal(client.sessions.uploadFile({ session_id: other.id, path: "no.txt", content: "x".repeat(1_000_000) }))
  )
  isDiskFull(await refusal(newSession()))
  assert.deepStrictEqual(await readiness(server.url), {
    status: 503,
    body: {
      status: "unavailable",
      reason: "disk_full",
      checks: { database: "disk_full", migrations: "ok", disk: "disk_full" }
    }
  })
  // Reading goes on.
  assert.strictEqual((await client.sessions.readFile({ session_id: other.id, path: "before.txt" })).content, "kept")
  await eventually("the agent whose words cannot be kept is ended", () =>
    agentProcesses(lease).length === 0 ? true : undefined
  )

  free()
  const turn = await client.turns.wait({ turn_id: sent.turn_id ?? "" })
  assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "outcome_unknown"])
  assert.include(turn.reason_message, "The disk of the service is full")
  await eventually("it is ready again", async () => ((await readiness(server.url)).status === 200 ? true : undefined))
  for (const project_id of acknowledged) await client.projects.get({ project_id })
  await client.sessions.uploadFile({ session_id: other.id, path: "after.txt", content: "room" })
  await client.turns.acknowledge({ turn_id: turn.id })
  const next = await client.run({ session_id: running.id, content: 'Go on. SCRIPT:[{"say":"Here I am."}]' })
  assert.deepStrictEqual([next.turn.state, next.text.trim()], ["succeeded", "Here I am."])
  const { items } = await client.sessions.events({ session_id: running.id, limit: 1000 })
  assert.deepStrictEqual(
    items.map(({ seq }) => seq),
    items.map((_, index) => index + 1)
  )
  assert.isEmpty(
    lines(server.log()).filter((line) => !line.startsWith("The disk of the service is full")),
    "the log says what is the matter in sentences, and nothing else"
  )
  const { bytes } = { bytes: server.log().length }
  assert.isBelow(bytes, 20_000)
})

it("a turn that begins on a full disk waits or fails in words, and the one after it succeeds", async () => {
  const { client, newSession } = await start()
  const session = await newSession()
  const blocked = await newSession()
  // Leaves room for the database alone: the workspace of a session is made of files.
  fill()
  for (const name of readdirSync(mountPoint)
    .filter((each) => each.startsWith("ballast-"))
    .slice(-1)) {
    rmSync(join(mountPoint, name))
  }
  const queued = await client.messages
    .send({ session_id: blocked.id, content: 'Hello. SCRIPT:[{"say":"Here I am."}]' })
    .catch((error: unknown) => error)
  if (queued instanceof ReinsApiError) isDiskFull(queued)
  free()
  if (!(queued instanceof Error) && typeof queued === "object" && queued !== null && "turn_id" in queued) {
    const turn = await client.turns.wait({ turn_id: String(queued.turn_id) })
    if (turn.state !== "succeeded") assert.isNotEmpty(turn.reason_message)
  }
  const { text, turn } = await client.run({ session_id: session.id, content: 'Hello. SCRIPT:[{"say":"Here I am."}]' })
  assert.deepStrictEqual([turn.state, text.trim()], ["succeeded", "Here I am."])
})

it("a server does not start on a read-only or foreign data directory, and says so in a sentence", async () => {
  const first = await startServer({ dataDir })
  first.kill("SIGTERM")
  await first.ended
  mount("-o", "remount,ro", mountPoint)
  const readOnly = reins(dataDir, ["serve", "--port", "0"])
  mount("-o", "remount,rw", mountPoint)
  assert.strictEqual(readOnly.status, 1)
  assert.match(readOnly.stderr, /^reins: The data directory \S+ cannot be used: .*read-only.*\n$/)

  mount("-o", "remount,ro", mountPoint)
  const nowhere = reins(join(mountPoint, "new"), ["serve", "--port", "0"])
  mount("-o", "remount,rw", mountPoint)
  assert.strictEqual(nowhere.status, 1)
  assert.match(nowhere.stderr, /^reins: The data directory \S+ cannot be used: .+\n$/)

  chmodSync(dataDir, 0o700)
  const foreign = spawnSync(
    "setpriv",
    ["--reuid=65534", "--regid=65534", "--clear-groups", process.execPath, published, "serve", "--port", "0"],
    { env: { ...process.env, REINS_DATA_DIR: dataDir, HOME: mountPoint }, encoding: "utf8", cwd: "/" }
  )
  assert.strictEqual(foreign.status, 1)
  assert.match(foreign.stderr, /^reins: The data directory \S+ cannot be used: .*permission.*\n$/)

  const last = await startServer({ dataDir })
  assert.strictEqual((await readiness(last.url)).status, 200)
})

it("a data directory that takes no writes any more refuses them in words, and is written again once it does", async () => {
  const { client, newSession, server, workspace_id } = await start()
  const session = await newSession()
  // A file system cannot be remounted while it is written to: its files are made unchangeable instead, with those that are open.
  const unchangeable = [dataDir, join(dataDir, "reins.db"), join(dataDir, "reins.db-wal"), join(dataDir, "sessions")]
  await client.sessions.uploadFile({ session_id: session.id, path: "before.txt", content: "kept" })
  const chattr = (flag: "+i" | "-i") => assert.strictEqual(spawnSync("chattr", [flag, ...unchangeable]).status, 0)
  chattr("+i")
  try {
    const refused = await refusal(client.projects.create({ workspace_id, slug: "no", name: "No" }))
    assert.deepStrictEqual([refused.status, refused.code, refused.retryable], [503, "waiting_capacity", true])
    assert.strictEqual((await readiness(server.url)).status, 503)
    assert.strictEqual((await client.sessions.readFile({ session_id: session.id, path: "before.txt" })).content, "kept")
  } finally {
    chattr("-i")
  }
  await eventually("it is ready again", async () => ((await readiness(server.url)).status === 200 ? true : undefined))
  await client.projects.create({ workspace_id, slug: "yes", name: "Yes" })
  await client.sessions.uploadFile({ session_id: session.id, path: "after.txt", content: "room" })
  assert.isEmpty(lines(server.log()).filter((line) => !line.startsWith("The disk of the service fails")))
})
