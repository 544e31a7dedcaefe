import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { published, startServer } from "@reins/testing/process/ServerProcess"
import { Effect } from "effect"

/** Runs a program as a user without a name and a home, as containers do for a user that is a number. */
const asNobody = (users: string) =>
  ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--ro-bind", users, "/etc/passwd"].concat(
    ["HOME", "USER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "REINS_CACHE_DIR"].flatMap((name) => ["--unsetenv", name])
  )

sandboxed("a server of a user without a home starts, and a command says what to set", () =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-no-home-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const users = join(directory, "passwd")
    writeFileSync(users, "")
    const dataDir = join(directory, "data")
    const launcher = asNobody(users)
    const server = yield* Effect.acquireRelease(
      Effect.promise(() => startServer({ dataDir, launcher, env: { REINS_EXECUTOR: "local" } })),
      (started) =>
        Effect.promise(() => {
          started.kill("SIGTERM")
          return started.ended
        })
    )
    assert.strictEqual((yield* Effect.promise(() => fetch(`${server.url}/readyz`))).status, 200)
    assert.isTrue(existsSync(join(dataDir, "keyring.json")))

    const run = (...args: ReadonlyArray<string>) => {
      const [program = "", ...words] = [...launcher, process.execPath, published, ...args]
      return spawnSync(program, words, { encoding: "utf8", cwd: directory })
    }
    const listed = run("sessions", "list")
    assert.strictEqual(listed.status, 1)
    assert.notMatch(listed.stderr, /\n\s+at |ENOENT|uv_os/)
  })
)
