import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { type Caller, newCaller } from "@reins/testing/process/Caller"
import { commands, endedSession, environmentOf, wordsOf } from "@reins/testing/process/Commands"
import { placeForFile } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { share } from "@reins/testing/Volume"
import { Effect } from "effect"
import { assert, beforeAll, describe, it } from "vitest"
import { mainOf, onEachNode, run } from "./OnNodes.js"
import type { OnNode } from "./Places.js"

/** Collects garbage five times a second, and on SIGUSR2 until nothing is left to collect. Native objects whose owner is gone end the process then. */
const collecting = `data:text/javascript,${encodeURIComponent(`
setInterval(gc, 200).unref()
process.on("exit", () => gc())
process.on("SIGUSR2", async () => {
  for (let round = 0; round < 5; round++) {
    gc()
    await new Promise(setImmediate)
  }
  process.stderr.write("collected\\n")
})
`)}`

const crash = /abort|assert|fatal|segmentation|core dumped|FATAL ERROR|Native stack/i

/** Has bash run a program of a Node that collects, so that a crash leaves its core in the directory. The Node of the tests stands before the program. */
const collectingIn = (directory: string, node: string): ReadonlyArray<string> => [
  "bash",
  "-c",
  'ulimit -c unlimited && cd "$0" && node=$1 collecting=$2 && shift 3 && exec "$node" --expose-gc --import "$collecting" "$@"',
  directory,
  node,
  collecting
]

const coresIn = (directory: string) => readdirSync(directory).filter((name) => /^core(\.\d+)?$/.test(name))

const byNpm = onEachNode.filter(({ by }) => by === "npm")

/** Tells whether the whole volume runs on a Node. Collections ended every command on Node 24, so it does there. In a soak it does on each. */
const isWhole = ({ release }: OnNode): boolean => share(release === "24", true)

/** Each command, or a quarter of them, another one for each Node. */
const commandsOn = (on: OnNode, at: number): ReadonlyArray<string> => {
  const all = Object.keys(commands)
  return isWhole(on) ? all : all.filter((_, index) => index % byNpm.length === at)
}

describe.each(
  byNpm.map((on, at) => ({ ...on, names: commandsOn(on, at), requestCount: isWhole(on) ? 10_000 : 2_000 }))
)("Node $release, which collects all the time", (on) => {
  const place = placeForFile()
  let server: ServerProcess
  let caller: Caller
  let sessionId: string
  let cores: string
  let launcher: ReadonlyArray<string>

  beforeAll(async () => {
    cores = join(place.directory, "cores")
    mkdirSync(cores)
    launcher = collectingIn(cores, on.node)
    server = await startServer({
      dataDir: place.dataDir,
      launcher,
      program: mainOf(on),
      args: ["--executor", "local"]
    })
    caller = await newCaller(server, place.dataDir, place.gateway)
    sessionId = await endedSession(server, caller)
  })

  it(`answers ${on.requestCount} requests, and is idle in between`, { timeout: 600_000 }, async () => {
    const client = caller.at(server)
    const { workspaceId: workspace_id } = caller
    const requests = [
      () => client.sessions.get({ session_id: sessionId }),
      () => client.sessions.list({ workspace_id }),
      () => client.sessions.listEvents({ session_id: sessionId }),
      () => client.accounts.getMe()
    ]
    for (let round = 1; round <= 5; round++) {
      await Effect.runPromise(
        Effect.forEach(
          Array.from({ length: on.requestCount / 5 / requests.length }, () => requests).flat(),
          (request) => Effect.promise(async () => void (await request())),
          { concurrency: 16, discard: true }
        )
      )
      server.kill("SIGUSR2")
      await eventually("all is collected", () => server.log().split("collected").length === round + 1)
    }
    assert.notMatch(server.log(), crash)
  })

  it(`runs ${on.names.length} commands to an end of their own`, { timeout: 600_000 }, async () => {
    const env = environmentOf(server, caller, place)
    const [command = "", ...before] = launcher
    const ended = await Effect.runPromise(
      Effect.forEach(
        on.names,
        (name) =>
          Effect.map(
            Effect.promise(() =>
              run(command, [...before, process.execPath, mainOf(on), ...wordsOf(name, sessionId)], env)
            ),
            (end) => ({ name, ...end })
          ),
        { concurrency: 3 }
      )
    )
    assert.deepStrictEqual(
      ended.filter(({ status, stderr }) => (status !== 0 && status !== 1) || crash.test(stderr)),
      []
    )
  })

  it("stops with status 0, and no crash has left a core", async () => {
    server.kill("SIGTERM")
    assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
    assert.notMatch(server.log(), crash)
    assert.deepStrictEqual(coresIn(cores), [])
  })
})
