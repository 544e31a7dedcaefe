import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import * as Local from "@reins/machine/executor/Local"
import { executorSuite } from "@reins/testing/executor/ExecutorSuite"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { Effect } from "effect"
import { afterEach, assert, beforeEach, it } from "vitest"
import { type Gateway, script, startGateway } from "../../scripted-gateway/gateway.mjs"
import { through } from "../executor.mjs"

const run = promisify(execFile)
const example = join(import.meta.dirname, "../own-executor.mjs")
let gateway: Gateway
let directory: string

beforeEach(async () => {
  gateway = await startGateway({ apiKey: "own-key" })
  directory = mkdtempSync(join(tmpdir(), "reins-own-executor-"))
})
afterEach(async () => {
  await gateway.close()
  rmSync(directory, { recursive: true, force: true })
})

it("the example runs the agent of a turn through its own command, and records that", async () => {
  const bash = { tool: "bash", cmd: "nice > priority.txt" }
  const { stdout } = await run(process.execPath, [example, script("Say it.", bash, { say: "Said." })], {
    env: {
      ...process.env,
      REINS_BASE_URL: gateway.url,
      REINS_API_KEY: "own-key",
      REINS_MODEL: "scripted-1",
      REINS_DATA_DIR: directory,
      // The agent is not what is proved here, and the small one starts at once.
      REINS_CACHE_DIR: cacheWithSmallAgent(directory)
    },
    timeout: 60_000
  })
  assert.match(stdout, /^\d+ turn\.succeeded$/m)
  // What the agent starts inherits the priority that the command gave it.
  assert.match(stdout, /^\+10$/m)
  const records = readFileSync(join(directory, "agents.jsonl"), "utf8").trim().split("\n")
  const [started, ended, ...others] = records.map((line) => JSON.parse(line))
  assert.deepInclude(started, { event: "started" })
  assert.deepInclude(ended, { event: "ended", lease: started.lease })
  assert.isAbove(started.pid, 0)
  assert.isEmpty(others)
  assert.notInclude(records.join(), "own-key")
})

executorSuite(
  "nice",
  Effect.gen(function* () {
    const root = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-nice-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const recordFile = join(root, "agents.jsonl")
    return through(yield* Local.make(`boot_nice_${process.pid}`), { backend: "nice", command: ["nice"], recordFile })
  })
)
