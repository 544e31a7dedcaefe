import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { newCaller } from "@reins/testing/process/Caller"
import { commands, endedSession, environmentOf, wordsOf } from "@reins/testing/process/Commands"
import { placeForFile } from "@reins/testing/process/Place"
import { published, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { share } from "@reins/testing/Volume"
import { Effect } from "effect"
import { assert, beforeAll, describe, it } from "vitest"

const root = join(import.meta.dirname, "../../..")
const place = placeForFile()

/** Node says then what it will take away, also what it keeps to itself by default, and where that is used. */
const warned = { NODE_OPTIONS: "--pending-deprecation --trace-deprecation --trace-warnings" }

/** The beginning of each warning of Node: deprecations, experiments, leaks of listeners. */
const warning = /^\(node:\d+\) .*$/m

const run = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}, cwd = root) =>
  new Promise<{ readonly status: number | null; readonly stderr: string }>((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { ...process.env, ...warned, ...env },
      stdio: ["ignore", "ignore", "pipe"]
    })
    let stderr = ""
    child.stderr.on("data", (chunk) => {
      stderr += String(chunk)
    })
    child.once("close", (status) => resolve({ status, stderr }))
  })

/** The commands that are run: those that load most of the program, and every one in a soak. */
const wanted = share(
  ["backup", "config", "doctor", "harnesses list", "init", "keys list", "run", "sessions list", "webhooks list"],
  Object.keys(commands)
)

describe("Node warns of nothing", () => {
  let server: ServerProcess
  let env: Record<string, string>
  let sessionId: string
  beforeAll(async () => {
    server = await startServer({ dataDir: place.dataDir, env: warned, args: ["--executor", "local"] })
    const caller = await newCaller(server, place.dataDir, place.gateway)
    sessionId = await endedSession(server, caller)
    env = environmentOf(server, caller, place)
  })

  it(`in ${wanted.length} commands of the command line`, { timeout: 300_000 }, async () => {
    const listed = readFileSync(join(root, "docs/command-line.md"), "utf8").matchAll(/^## reins (.+)$/gm)
    const names = [...listed].map(([, name = ""]) => name)
    assert.sameMembers(names, ["serve", ...Object.keys(commands)])
    const found = await Effect.runPromise(
      Effect.forEach(
        wanted,
        (name) => {
          return Effect.map(
            Effect.promise(() => run([published, ...wordsOf(name, sessionId)], env, place.directory)),
            ({ status, stderr }) => ({ name, status, warnings: warning.exec(stderr)?.[0] })
          )
        },
        { concurrency: 3 }
      )
    )
    assert.deepStrictEqual(
      found.filter(({ status, warnings }) => warnings !== undefined || (status !== 0 && status !== 1)),
      []
    )
    const worked = found.filter(({ status }) => status === 0).map(({ name }) => name)
    assert.includeMembers(worked, ["backup", "config", "doctor", "harnesses list", "keys list", "sessions list"])
  })

  it("in a server that has run an agent, and stops", async () => {
    server.kill("SIGTERM")
    assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
    assert.notMatch(server.log(), warning)
  })

  it("in a server on PostgreSQL", async () => {
    const dataDir = join(place.directory, "on-postgres")
    const database = { REINS_DATABASE_URL: await place.newPostgresDatabase() }
    const own = await startServer({ dataDir, env: { ...warned, ...database }, args: ["--executor", "local"] })
    const caller = await newCaller(own, dataDir, place.gateway, database)
    await caller.newSession(caller.at(own))
    own.kill("SIGTERM")
    assert.deepStrictEqual(await own.ended, { code: 0, signal: null })
    assert.notMatch(own.log(), warning)
  })

  it("in a program that embeds the core, and in the set-up", async () => {
    const program = [
      'import { Effect } from "effect"',
      'import * as Embedded from "@reins/core/Embedded"',
      `const layer = Embedded.layer({ dataDir: ${JSON.stringify(join(place.directory, "embedded"))} })`,
      "await Effect.runPromise(Effect.provide(Embedded.owner, layer))"
    ].join("\n")
    for (const args of [
      ["--input-type=module", "--eval", program],
      ["scripts/setup.mjs", "--quiet", "--check"]
    ]) {
      const { status, stderr } = await run(args)
      assert.strictEqual(status, 0, stderr)
      assert.notMatch(stderr, warning)
    }
  })

  it("except where there is something to warn of, which these tests would see", async () => {
    assert.match((await run(["--eval", "new Buffer(1)"])).stderr, warning)
    assert.match((await run(["--eval", "process.emitWarning('x', 'ExperimentalWarning')"])).stderr, warning)
  })
})
