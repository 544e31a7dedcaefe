import { spawnSync } from "node:child_process"
import { chmodSync, readdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ReinsApiError } from "@reins/client"
import { processesOf } from "@reins/testing/executor/Processes"
import { newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { published, reins, startServer } from "@reins/testing/process/ServerProcess"
import { assertAnswers, beginTurn, endlessTool, wholeLog } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterEach, assert, beforeEach, it } from "vitest"
import { agent, leaseSeconds } from "../Volume.js"

const place = placeForEachTest()

/** A small file system of its own in a file, and the data directory on it. */
let mountPoint: string
let dataDir: string

const mount = (...args: ReadonlyArray<string>) => {
  const { status, stderr } = spawnSync("mount", [...args], { encoding: "utf8" })
  assert.strictEqual(status, 0, stderr)
}

beforeEach(() => {
  mountPoint = place.directory
  const image = `${mountPoint}.img`
  writeFileSync(image, "")
  truncateSync(image, 128 * 1024 * 1024)
  assert.strictEqual(spawnSync("mkfs.ext4", ["-q", "-F", "-m", "0", image]).status, 0)
  mount("-o", "loop", image, mountPoint)
  dataDir = place.dataDir
})
afterEach(async () => {
  await place.endProcesses()
  await eventually("the file system is free", () => spawnSync("umount", [mountPoint]).status === 0)
  rmSync(`${mountPoint}.img`, { force: true })
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
  const server = await startServer({ dataDir, agent, env: { REINS_LEASE_SECONDS: String(leaseSeconds) } })
  const caller = await newCaller(server, dataDir, place.gateway)
  const client = caller.at(server, { maxRetries: 0 })
  return { server, client, workspace_id: caller.workspaceId, newSession: () => caller.newSession(client) }
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
  const begun = await beginTurn(client, running, endlessTool(), "tool.started")
  const other = await newSession()
  await client.sessions.uploadFile({ session_id: other, path: "before.txt", content: "kept" })

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
    await refusal(client.sessions.uploadFile({ session_id: other, path: "no.txt", content: "x".repeat(1_000_000) }))
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
  assert.strictEqual((await client.sessions.getFile({ session_id: other, path: "before.txt" })).content, "kept")
  await eventually("the agent whose words cannot be kept is ended", () => processesOf(begun.lease_id).length === 0)

  free()
  const turn = await client.turns.wait({ turn_id: begun.turn_id })
  assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "outcome_unknown"])
  assert.include(turn.reason_message, "The disk of the service is full")
  await eventually("it is ready again", async () => (await readiness(server.url)).status === 200)
  for (const project_id of acknowledged) await client.projects.get({ project_id })
  await client.sessions.uploadFile({ session_id: other, path: "after.txt", content: "room" })
  await client.turns.acknowledge({ turn_id: turn.id })
  await assertAnswers(client, running)
  await wholeLog(client, running)
  assert.isEmpty(
    lines(server.log()).filter((line) => !line.startsWith("The disk of the service is full")),
    "the log says what is the matter in sentences, and nothing else"
  )
  assert.isBelow(server.log().length, 20_000)
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
    .send({ session_id: blocked, content: script("Hello.", { say: "Here I am." }) })
    .catch((error: unknown) => error)
  if (queued instanceof ReinsApiError) isDiskFull(queued)
  free()
  if (!(queued instanceof Error) && typeof queued === "object" && queued !== null && "turn_id" in queued) {
    const turn = await client.turns.wait({ turn_id: String(queued.turn_id) })
    if (turn.state !== "succeeded") assert.isNotEmpty(turn.reason_message)
  }
  await assertAnswers(client, session)
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
  await client.sessions.uploadFile({ session_id: session, path: "before.txt", content: "kept" })
  const chattr = (flag: "+i" | "-i") => assert.strictEqual(spawnSync("chattr", [flag, ...unchangeable]).status, 0)
  chattr("+i")
  try {
    const refused = await refusal(client.projects.create({ workspace_id, slug: "no", name: "No" }))
    assert.deepStrictEqual([refused.status, refused.code, refused.retryable], [503, "waiting_capacity", true])
    assert.strictEqual((await readiness(server.url)).status, 503)
    assert.strictEqual((await client.sessions.getFile({ session_id: session, path: "before.txt" })).content, "kept")
  } finally {
    chattr("-i")
  }
  await eventually("it is ready again", async () => (await readiness(server.url)).status === 200)
  await client.projects.create({ workspace_id, slug: "yes", name: "Yes" })
  await client.sessions.uploadFile({ session_id: session, path: "after.txt", content: "room" })
  assert.isEmpty(lines(server.log()).filter((line) => !line.startsWith("The disk of the service fails")))
})
