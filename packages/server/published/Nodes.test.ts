import { spawn } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Caller, newCaller } from "@reins/testing/process/Caller"
import { commands, endedSession, environmentOf, wordsOf } from "@reins/testing/process/Commands"
import { placeForFile } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { share } from "@reins/testing/Volume"
import { Effect } from "effect"
import { assert, beforeAll, describe, it } from "vitest"
import type { OnNode } from "./Places.js"
import { published } from "./Published.js"

const { installed, onNodes } = published()

const byNpm = onNodes.filter(({ by }) => by === "npm")

/** The Node that runs the tests, with what is installed for it. */
const own: OnNode = {
  ...installed.together["the highest peers, by npm"],
  by: "npm",
  release: process.versions.node,
  node: process.execPath
}

const modulesOf = ({ directory }: OnNode) => join(directory, "node_modules")

const mainOf = (on: OnNode) => join(modulesOf(on), "@reins/server/dist/main.js")

/** Runs a program to its end. The worker of the tests must not be blocked meanwhile. */
const run = (command: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  new Promise<{ status: number | null; signal: string | null; stdout: string; stderr: string }>((resolve) => {
    const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
    const said = { stdout: "", stderr: "" }
    child.stdout.on("data", (chunk) => {
      said.stdout += String(chunk)
    })
    child.stderr.on("data", (chunk) => {
      said.stderr += String(chunk)
    })
    child.once("close", (status, signal) => resolve({ status, signal, ...said }))
  })

/** The ways in which an embedding program ends, with its status and signal. Most are tried on the Node of the tests and on 24, and all in a soak. */
const ends = [
  ["status", 5, null],
  ["worker", 0, null],
  ["end", 0, null],
  ["exit", 7, null],
  ["throw", 1, null],
  ["SIGTERM", null, "SIGTERM"],
  ["SIGINT", null, "SIGINT"]
] as const

describe.each([...onNodes, own])("on Node $release, installed by $by", (on) => {
  it("no script fails, and nothing is deprecated", () => {
    assert.isFalse(on.failed, on.output)
    assert.notMatch(on.output, /\bdeprecated\b|\berr(or)?\b|prebuild-install|could ?n[o']t be built/i)
  })

  it("a program that embeds the core ends with its own status", async () => {
    const file = join(on.directory, "embed.mjs")
    const program = [
      'import { Embedded, Sessions } from "@reins/core"',
      'import { Effect } from "effect"',
      'import { isMainThread, parentPort, Worker } from "node:worker_threads"',
      "const [, , dataDir, how] = process.argv",
      "const sessions = Effect.gen(function* () {",
      "  const { principal, workspaceId } = yield* Embedded.owner",
      "  yield* (yield* Sessions).list(principal, workspaceId, {})",
      "  if (!isMainThread) return yield* Effect.zipRight(Effect.sync(() => parentPort.postMessage(0)), Effect.never)",
      '  if (how === "exit") process.exit(7)',
      '  if (how.startsWith("SIG")) yield* Effect.zipRight(Effect.sync(() => process.kill(process.pid, how)), Effect.never)',
      "})",
      'if (isMainThread && how === "worker") {',
      "  const worker = new Worker(new URL(import.meta.url), { argv: [dataDir, how] })",
      '  await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject))',
      "  await worker.terminate()",
      "} else await Effect.runPromise(Effect.provide(sessions, Embedded.layer({ dataDir })))",
      'if (how === "throw") throw new Error("its own")',
      'process.exitCode = how === "status" ? 5 : 0'
    ]
    writeFileSync(file, program.join("\n"))
    const isWhole = on.node === own.node || (on.by === "npm" && on.release === "24")
    for (const [how, ...end] of share(isWhole ? ends : ends.slice(0, 2), ends)) {
      const ended = await run(on.node, [file, join(on.directory, `data-${how}`), how])
      assert.deepStrictEqual([ended.status, ended.signal], end, `${how}: ${ended.stderr}`)
    }
  })

  it("there is a command line", async () => {
    const { version } = JSON.parse(readFileSync(join(modulesOf(on), "@reins/server/package.json"), "utf8"))
    const said = await run(on.node, [mainOf(on), "--version"])
    assert.deepStrictEqual([said.status, said.stdout, said.stderr], [0, `${version}\n`, ""])
    const refused = await run(on.node, [mainOf(on), "nonsense"])
    assert.deepStrictEqual([refused.status, refused.signal], [1, null], refused.stderr)
  })
})

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

/** Each command on Node 24, which is where collections ended them all, and a third of them on each other Node. A soak runs all on each. */
const commandsOn = ({ release }: OnNode, at: number): ReadonlyArray<string> => {
  const all = Object.keys(commands)
  return share(release === "24" ? all : all.filter((_, index) => index % 3 === at % 3), all)
}

describe.each([...byNpm, own].map((on, at) => ({ ...on, names: commandsOn(on, at) })))(
  "Node $release, which collects all the time",
  (on) => {
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

    it("answers 10,000 requests, and is idle in between", { timeout: 600_000 }, async () => {
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
            Array.from({ length: 500 }, () => requests).flat(),
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
  }
)
