import { spawn, spawnSync } from "node:child_process"
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type ListenOptions, type Server } from "node:net"
import { networkInterfaces } from "node:os"
import { join } from "node:path"
import { endEach, processesWhere, shown } from "@reins/testing/executor/Processes"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller } from "@reins/testing/process/Caller"
import type { Place } from "@reins/testing/process/Place"
import { published, type ServerOptions, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterEach, assert } from "vitest"
import { attemptsOf, daemons, scriptOf } from "./Attempts.js"
import type { Surroundings } from "./World.js"

const undo: Array<() => unknown> = []
afterEach(async () => {
  for (const work of undo.splice(0).reverse()) await work()
})

/** The server that runs the agents of the attempts. */
interface Attacked {
  readonly executor: "bubblewrap" | "container" | "local"
  /** The options of `startServer` besides the data directory and the cache. */
  readonly options?: Pick<ServerOptions, "env" | "launcher">
  /** The user of the server, unless it is that of the test. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** The mounts of this machine that no sandbox makes for itself, as lines or as ` <path> `. */
const machineMounts = (): ReadonlyArray<string> =>
  readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, target = "", kind] = line.split(" ")
      if (target === "/") return [line]
      return /^\/(?:proc|sys|dev|tmp)(?:\/|$)/.test(target) || kind === undefined ? [] : [` ${target} ${kind} `]
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
const surround = async (
  place: Place,
  { user }: Attacked,
  server: ServerProcess,
  sessions: readonly [own: string, other: string]
) => {
  const canary = `canary-${Math.random().toString(36).slice(2)}`
  const lifetime = 100_000_000 + Math.floor(Math.random() * 800_000_000)
  const marks = join(place.directory, "marks")
  mkdirSync(marks)
  if (user !== undefined) chownSync(marks, user.uid, user.gid)
  const files = [place.directory, "/tmp", "/var/tmp", "/dev/shm"].map((at) => join(at, `.reins-${canary}`))
  for (const file of files) writeFileSync(file, canary)
  undo.push(() => files.map((file) => rmSync(file, { force: true })))
  const sleeper = spawn("sleep", [String(lifetime)], { stdio: "ignore", ...user })
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
    mounts: machineMounts(),
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
export const escapesOn = async (place: Place, attacked: Attacked) => {
  const { dataDir, directory, gateway } = place
  const { executor, options = {}, user } = attacked
  const cache = { REINS_CACHE_DIR: cacheWithSmallAgent(directory), OUTSIDE_SECRET: "outside" }
  if (user !== undefined) spawnSync("chown", ["-R", `${user.uid}:${user.gid}`, directory])
  const env = { ...options.env, ...cache, REINS_EXECUTOR: executor }
  const server = await startServer({ ...options, dataDir, env })
  const caller = await newCaller(server, dataDir, gateway)
  const client = caller.at(server)
  const other = await caller.newSession(client)
  await client
    .run({ session_id: other, content: script("Begin.", { tool: "bash", cmd: "true" }, { say: "Done." }) })
    .final()
  const own = await caller.newSession(client)
  const world = await surround(place, attacked, server, [own, other])

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
    endEach(processesWhere((one) => shown(one, "cmdline").includes(`\0${world.lifetime}.`)))
  })
  return {
    count: results.length + daemons.length,
    out: results.flatMap(([result, name = ""]) => (result === "out" ? [name] : [])),
    survived: living.map((words) => `outlive the turn: ${words}`),
    misled: readdirSync(world.marks)
  }
}
