import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { createClient } from "@libsql/client"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { databaseSuite } from "@reins/testing/store/DatabaseSuite"
import { Effect, Layer } from "effect"
import { afterEach, assert, beforeEach, it } from "vitest"
import { type Gateway, script, startGateway } from "../../scripted-gateway/gateway.mjs"
import * as Libsql from "../libsql.mjs"

const run = promisify(execFile)
const example = join(import.meta.dirname, "../own-storage.mjs")
const temporaryFile = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-libsql-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  ),
  (path) => join(path, "libsql.db")
)
let gateway: Gateway
let directory: string

beforeEach(async () => {
  gateway = await startGateway({ apiKey: "own-key" })
  directory = mkdtempSync(join(tmpdir(), "reins-own-storage-"))
})
afterEach(async () => {
  await gateway.close()
  rmSync(directory, { recursive: true, force: true })
})

it("the example runs a turn on libSQL, and keeps everything there", async () => {
  const write = { tool: "write", path: "haiku.txt", content: "Soft reins, steady hands\n" }
  const { stdout } = await run(process.execPath, [example, script("Write it.", write, { say: "Written." })], {
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
  assert.include(stdout, "+Soft reins, steady hands")
  assert.isFalse(existsSync(join(directory, "reins.db")))
  const client = createClient({ url: `file:${join(directory, "libsql.db")}` })
  const { rows } = await client.execute("select state from turns")
  client.close()
  assert.deepStrictEqual(
    rows.map(({ state }) => state),
    ["succeeded"]
  )
})

databaseSuite(
  "libSQL",
  Layer.orDie(Layer.unwrapScoped(Effect.map(temporaryFile, (file) => Libsql.layer(`file:${file}`))))
)
