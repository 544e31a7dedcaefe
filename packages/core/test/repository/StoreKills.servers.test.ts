import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { bareRemote, plainGit, remoteCommit, temporary } from "@reins/testing/git/Fixture"
import { storeKills } from "@reins/testing/Volume"
import { Effect } from "effect"
import { build } from "esbuild"

const sources = pathToFileURL(join(import.meta.dirname, "../../src/store/SqliteDriver.ts")).href

const name = "c".repeat(64)

const setUp = Effect.gen(function* () {
  const root = yield* temporary
  const program = join(root, "kills.mjs")
  yield* Effect.promise(() =>
    build({
      entryPoints: [join(import.meta.dirname, "StoreKills.ts")],
      outfile: program,
      bundle: true,
      platform: "node",
      format: "esm",
      conditions: ["@reins/source"],
      // The driver of SQLite is found from the sources, as are the modules that ask for others when they run.
      define: { "import.meta.url": JSON.stringify(sources) },
      banner: {
        js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(${JSON.stringify(sources)});`
      },
      logLevel: "error"
    })
  )
  const url = bareRemote(root, { "a.txt": "one\n" })
  const dataDir = join(root, "data")
  const run = (what: "clone" | "sweep", killAt: number, session = "none") => {
    const { signal, status, stderr, stdout } = spawnSync(
      process.execPath,
      [program, what, String(killAt), dataDir, name, url, session],
      { encoding: "utf8" }
    )
    if (signal !== "SIGKILL" && status !== 0) assert.fail(stderr)
    return { isKilled: signal === "SIGKILL", steps: Number(/steps (\d+)/.exec(stdout)?.[1] ?? 0) }
  }
  const folder = (session: string) => join(dataDir, "sessions", session)
  const whole = (session: string): void => {
    const workTree = join(folder(session), "workspace")
    plainGit(workTree, "fsck", "--full")
    assert.strictEqual(plainGit(workTree, "status", "--porcelain"), "")
    plainGit("/", `--git-dir=${join(folder(session), "trusted.git")}`, "fsck", "--full")
  }
  return { root, url, dataDir, run, whole, folder, store: join(dataDir, "object-stores", name) }
})

const timeout = 60_000 + storeKills * 20_000

/** Steps from the first to the last, as many as are asked for. */
const stepsOf = (last: number): ReadonlyArray<number> => {
  const count = Math.min(storeKills, last)
  return [
    ...new Set(Array.from({ length: count }, (_, at) => 1 + Math.floor((at * (last - 1)) / Math.max(count - 1, 1))))
  ]
}

describe("a process that is killed", () => {
  it.scopedLive(
    "while it fills a store takes no object from a session, and the next one goes on",
    () =>
      Effect.gen(function* () {
        const { folder, root, run, whole } = yield* setUp
        const { steps } = run("clone", 0, "first")
        assert.isAbove(steps, 20)
        let killed = 0
        for (const at of stepsOf(steps)) {
          remoteCommit(root, "main", `${at}.txt`, `${at}\n`)
          if (run("clone", at, `killed${at}`).isKilled) killed++
          whole("first")
          fs.rmSync(folder(`killed${at}`), { recursive: true, force: true })
          run("clone", 0, `after${at}`)
          assert.isTrue(fs.existsSync(join(folder(`after${at}`), "trusted.git/objects/info/alternates")))
          whole(`after${at}`)
          whole("first")
        }
        assert.isAbove(killed, 0)
      }),
    timeout
  )

  it.scopedLive(
    "while it makes the first store leaves one that the next session can use",
    () =>
      Effect.gen(function* () {
        const { dataDir, run, whole } = yield* setUp
        const { steps } = run("clone", 0, "measured")
        for (const at of stepsOf(steps)) {
          fs.rmSync(dataDir, { recursive: true })
          run("clone", at, "killed")
          run("clone", 0, "after")
          whole("after")
        }
      }),
    timeout
  )

  it.scopedLive(
    "while it drops a store leaves no session without its objects",
    () =>
      Effect.gen(function* () {
        const { folder, run, store, whole } = yield* setUp
        const age = () => fs.utimesSync(store, new Date(0), new Date(0))
        run("clone", 0, "one")
        age()
        run("sweep", 0)
        whole("one")
        fs.rmSync(folder("one"), { recursive: true })
        age()
        const { steps } = run("sweep", 0)
        assert.isFalse(fs.existsSync(store))
        for (const at of stepsOf(steps)) {
          run("clone", 0, "gone")
          fs.rmSync(folder("gone"), { recursive: true })
          age()
          run("sweep", at)
          run("clone", 0, `after${at}`)
          run("sweep", 0)
          whole(`after${at}`)
          fs.rmSync(folder(`after${at}`), { recursive: true })
        }
      }),
    timeout
  )
})
