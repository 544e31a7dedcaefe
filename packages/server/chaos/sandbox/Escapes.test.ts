import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type ListenOptions, type Server } from "node:net"
import { networkInterfaces } from "node:os"
import { join } from "node:path"
import { processesWhere, shown } from "@reins/testing/executor/Processes"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { published, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterEach, assert, it } from "vitest"
import { attemptsOf, daemons, scriptOf } from "./Attempts.js"
import type { Surroundings } from "./World.js"

const place = placeForEachTest(inHome)

const undo: Array<() => unknown> = []
afterEach(async () => {
  for (const work of undo.splice(0).reverse()) await work()
})

/** A listener that says the canary to everybody who connects. */
const listening = async (canary: string, options: ListenOptions): Promise<number> => {
  const server: Server = createServer((socket) => socket.on("error", () => undefined).end(`${canary}\n`))
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(options, resolve))
  undo.push(() => server.close())
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

const external = (): string =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1"

/** Makes what the attempts go for, each with the canary. */
const surround = async (server: ServerProcess, sessions: readonly [own: string, other: string]) => {
  const canary = `canary-${Math.random().toString(36).slice(2)}`
  const lifetime = 100_000_000 + Math.floor(Math.random() * 800_000_000)
  const marks = join(place.directory, "marks")
  mkdirSync(marks)
  const files = [place.directory, "/tmp", "/var/tmp", "/dev/shm"].map((at) => join(at, `.reins-${canary}`))
  for (const file of files) writeFileSync(file, canary)
  undo.push(() => files.map((file) => rmSync(file, { force: true })))
  const sleeper = spawn("sleep", [String(lifetime)], { stdio: "ignore" })
  undo.push(() => sleeper.kill("SIGKILL"))
  const shared = ["shmget(0xc0ffee,64,0666|01000)", "semget(0xc0ffee,1,0666|01000)", "msgget(0xc0ffee,0666|01000)"]
  spawnSync("perl", ["-e", shared.join(";")])
  undo.push(() => spawnSync("ipcrm", ["-M", "0xc0ffee", "-S", "0xc0ffee", "-Q", "0xc0ffee"]))
  const unixSocket = join("/tmp", `.reins-${lifetime}.sock`)
  await listening(canary, { path: unixSocket })
  await listening(canary, { path: `\0${canary}` })
  const [own, other] = sessions.map((id) => join(place.dataDir, "sessions", id))
  const world: Surroundings = {
    canary,
    dataDir: place.dataDir,
    ownSession: own ?? "",
    otherSession: other ?? "",
    cacheDir: join(place.directory, "cache"),
    files,
    marks,
    server: { pid: server.pid, port: Number(new URL(server.url).port), main: published },
    sleeper: sleeper.pid ?? 0,
    tcpPort: await listening(canary, { host: "0.0.0.0", port: 0 }),
    tcp6Port: await listening(canary, { host: "::1", port: 0 }),
    unixSocket,
    abstractSocket: canary,
    gatewayPort: Number(new URL(place.gateway.url).port),
    address: external(),
    lifetime
  }
  writeFileSync(join(world.otherSession, "workspace/canary.txt"), canary)
  return world
}

/** Runs all attempts in a turn, and gives the names of those that worked, also of what is seen after the turn only. */
const escapesOn = async (executor: "bubblewrap" | "local") => {
  const { dataDir, directory, gateway } = place
  const env = { REINS_CACHE_DIR: cacheWithSmallAgent(directory), REINS_EXECUTOR: executor, OUTSIDE_SECRET: "outside" }
  const server = await startServer({ dataDir, env })
  const caller = await newCaller(server, dataDir, gateway)
  const client = caller.at(server)
  const other = await caller.newSession(client)
  await client
    .run({ session_id: other, content: script("Begin.", { tool: "bash", cmd: "true" }, { say: "Done." }) })
    .final()
  const own = await caller.newSession(client)
  const world = await surround(server, [own, other])

  const content = script(
    "Get out.",
    { tool: "write", path: "attempts.sh", content: scriptOf(world) },
    { tool: "bash", cmd: "bash attempts.sh" },
    { say: "Done." }
  )
  const { turn } = await client.run({ session_id: own, content }).final()
  assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
  assert.strictEqual((await client.sessions.get({ session_id: own })).executor.backend, executor)

  const lines = readFileSync(join(world.ownSession, "workspace/results.txt"), "utf8").trimEnd().split("\n")
  assert.strictEqual(lines.pop(), "end\tof the attempts")
  const results = lines.map((line) => line.split("\t"))
  assert.deepStrictEqual(
    results.map(([, name]) => name),
    attemptsOf(world).map(({ name }) => name)
  )
  const living = daemons.filter(
    (_, index) =>
      processesWhere((pid) => shown(pid, "cmdline").includes(`\0${world.lifetime}.${index + 1}\0`)).length > 0
  )
  undo.push(() => {
    for (const pid of processesWhere((one) => shown(one, "cmdline").includes(`\0${world.lifetime}.`)))
      process.kill(pid, "SIGKILL")
  })
  return {
    count: results.length + daemons.length,
    out: results.flatMap(([result, name = ""]) => (result === "out" ? [name] : [])),
    survived: living.map((words) => `outlive the turn: ${words}`),
    misled: readdirSync(world.marks)
  }
}

it("no attempt gets out of the sandbox, and nothing that it leaves behind does anything afterwards", async () => {
  const { count, misled, out, survived } = await escapesOn("bubblewrap")
  assert.isAtLeast(count, 200)
  assert.deepStrictEqual([out, survived, misled], [[], [], []])
  process.stdout.write(`bubblewrap: ${count} attempts, 0 got out\n`)
})

it("the same attempts show what `local` gives away, so each kind of them can work", async () => {
  const { count, misled, out, survived } = await escapesOn("local")
  process.stdout.write(`local: ${count} attempts, ${out.length + survived.length} got out\n`)
  assert.includeMembers(out, [
    `open ${join(place.dataDir, "reins.db")}`,
    `open ${join(place.dataDir, "keyring.json")}`,
    "read a file of another session",
    "write a file of another session",
    "see trusted.git of the own session",
    "read the users of the machine",
    "read the environment of the server",
    "signal the server",
    "connect to 127.0.0.1",
    "connect to a socket of the machine",
    "connect to an abstract socket of the machine",
    "see a shared memory of the machine",
    "the system call mount",
    "run without a filter"
  ])
  assert.isNotEmpty(survived)
  // The service itself runs nothing that an agent has left in its files, whatever the agent ran in.
  assert.deepStrictEqual(misled, [])
})
