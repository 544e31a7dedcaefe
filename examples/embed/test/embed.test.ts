import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { afterEach, assert, beforeEach, it } from "vitest"
import { type Gateway, script, startGateway } from "../../scripted-gateway/gateway.mjs"

const run = promisify(execFile)
const example = join(import.meta.dirname, "../embed.mjs")
let gateway: Gateway
let directory: string

beforeEach(async () => {
  gateway = await startGateway({ apiKey: "embedded-key" })
  directory = mkdtempSync(join(tmpdir(), "reins-embed-"))
})
afterEach(async () => {
  await gateway.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Where a program that is told nothing looks for agents. */
const cacheHome = (): string => {
  const home = join(directory, "cache-home")
  mkdirSync(home)
  symlinkSync(cacheWithSmallAgent(directory), join(home, "reins"))
  return home
}

/** A path with every program of this one but bubblewrap, without which a program has to end as soon as well. */
const withoutSandbox = (): string => {
  const programs = join(directory, "programs")
  mkdirSync(programs)
  // The first folder that has a program wins, also where that is a link to nothing.
  const seen = new Set(["bwrap"])
  for (const folder of (process.env["PATH"] ?? "").split(":").filter(existsSync))
    for (const name of readdirSync(folder).filter((each) => !seen.has(each))) {
      seen.add(name)
      symlinkSync(join(folder, name), join(programs, name))
    }
  return programs
}

it("the example runs a session in its own process, shows the diff and ends, also where there is no sandbox", async () => {
  const write = { tool: "write", path: "haiku.txt", content: "Soft reins, steady hands\n" }
  const { stdout } = await run(process.execPath, [example, script("Write it.", write, { say: "Written." })], {
    env: {
      ...process.env,
      REINS_BASE_URL: gateway.url,
      REINS_API_KEY: "embedded-key",
      REINS_MODEL: "scripted-1",
      REINS_DATA_DIR: join(directory, "data"),
      XDG_CACHE_HOME: cacheHome(),
      PATH: withoutSandbox()
    },
    timeout: 40_000
  })
  assert.match(stdout, /^\d+ turn\.succeeded$/m)
  assert.include(stdout, "+Soft reins, steady hands")
}, 90_000)

it("the example says what it needs when it is not told", async () => {
  const failed = await run(process.execPath, [example], { env: { PATH: process.env["PATH"] } }).catch((error) => error)
  assert.strictEqual(failed.code, 2)
  assert.include(failed.stderr, "REINS_BASE_URL")
})
