import { type ChildProcess, execFile, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Reins } from "@reins/client"
import { Effect, Schema } from "effect"
import gamma from "../../../manifests/gamma.json" with { type: "json" }
import { makeInstallation } from "./cli/Cli.js"

/** The bundle, as it is shipped. */
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url))

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-serve-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const Ready = Schema.parseJson(
  Schema.Struct({ event: Schema.Literal("ready"), url: Schema.String, data_dir: Schema.String })
)

interface Exit {
  readonly code: number | null
  readonly ms: number
}

/** A service in a process of its own, once it is ready. */
const start = (cwd: string, args: ReadonlyArray<string> = ["serve", "--port", "0"]) =>
  Effect.gen(function* () {
    const began = Date.now()
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, [main, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] })),
      (spawned) => Effect.sync(() => spawned.kill("SIGKILL"))
    )
    let log = ""
    child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()))
    const line = yield* Effect.async<string>((resume) => {
      createInterface(child.stdout).once("line", (text) => resume(Effect.succeed(text)))
      child.once("exit", () => resume(Effect.die(new Error(`the service ended: ${log}`))))
    })
    const ready = yield* Schema.decodeUnknown(Ready)(line)
    return { child, ready, readyAfterMs: Date.now() - began, log: () => log }
  }).pipe(Effect.orDie)

const stop = (child: ChildProcess, ...signals: ReadonlyArray<NodeJS.Signals>) =>
  Effect.async<Exit>((resume) => {
    const began = Date.now()
    child.removeAllListeners("exit")
    child.once("exit", (code) => resume(Effect.succeed({ code, ms: Date.now() - began })))
    for (const signal of signals) child.kill(signal)
  })

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = (
  cwd: string,
  args: ReadonlyArray<string>,
  given: { readonly stdin?: string; readonly env?: NodeJS.ProcessEnv } = {}
) =>
  Effect.async<Ran>((resume) => {
    const child = execFile(
      process.execPath,
      [main, ...args],
      { cwd, env: { ...process.env, ...given.env } },
      (error, stdout, stderr) =>
        resume(Effect.succeed({ code: error === null ? 0 : Number(error.code), stdout, stderr }))
    )
    child.stdin?.end(given.stdin ?? "")
  })

/** Makes the database of an installation in the data directory below `cwd`. */
const install = (cwd: string) => Effect.promise(() => makeInstallation(join(cwd, ".reins")))

describe("the program", () => {
  it.scopedLive("says on one line of the standard output where it is, and to its operator how to begin", () =>
    Effect.gen(function* () {
      const cwd = yield* directory
      const { child, log, ready } = yield* start(cwd)
      assert.strictEqual(ready.data_dir, join(cwd, ".reins"))
      assert.strictEqual((yield* Effect.promise(() => fetch(`${ready.url}/readyz`))).status, 200)
      yield* stop(child, "SIGTERM")
      assert.include(log(), `reins init --data-dir ${ready.data_dir}`)
      assert.include(log(), "reins accounts first")
    })
  )

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.scopedLive(`ends with 0 within 10 s of ${signal}, with a connection kept open`, () =>
      Effect.gen(function* () {
        const { child, ready } = yield* start(yield* directory)
        yield* Effect.promise(() => fetch(`${ready.url}/healthz`, { headers: { connection: "keep-alive" } }))
        const { code, ms } = yield* stop(child, signal)
        assert.strictEqual(code, 0)
        assert.isBelow(ms, 10_000)
      })
    )
  }

  it.scopedLive("lets its operator make an account and a key while it runs, and the key works at once", () =>
    Effect.gen(function* () {
      const cwd = yield* directory
      const { child, ready } = yield* start(cwd)
      const account = yield* run(cwd, ["accounts", "create", "--email", "op@example.com", "--password-stdin"], {
        stdin: "a quiet heron at noon\n"
      })
      assert.deepStrictEqual([account.code, account.stderr], [0, ""])
      const key = yield* run(cwd, [
        "keys",
        "create",
        "--email",
        "op@example.com",
        "--name",
        "first",
        "--scopes",
        "read,write"
      ])
      assert.match(key.stdout, /^rk_[0-9A-Za-z]{49}\n$/)
      assert.notInclude(key.stderr, key.stdout.trim())
      const me = yield* Effect.promise(() =>
        fetch(`${ready.url}/api/me`, { headers: { authorization: `Bearer ${key.stdout.trim()}` } })
      )
      assert.strictEqual(me.status, 200)
      yield* stop(child, "SIGTERM")
    })
  )

  it.scopedLive("judges results by their schema, with a library that it loads when it first needs it", () =>
    Effect.gen(function* () {
      const cwd = yield* directory
      const { child, ready } = yield* start(cwd)
      yield* run(cwd, ["accounts", "create", "--email", "op@example.com", "--password-stdin"], {
        stdin: "a quiet heron at noon\n"
      })
      const key = yield* run(cwd, ["keys", "create", "--email", "op@example.com", "--name", "first"])
      const client = new Reins({ baseUrl: ready.url, apiKey: key.stdout.trim() })
      const answer = yield* Effect.promise(async () => {
        const workspace_id = (await client.accounts.getMe()).workspaces[0]?.id ?? ""
        const credential = { base_url: "http://127.0.0.1:9/v1", api_key: "nobody listens there" }
        await client.connections.create({ workspace_id, kind: "alpha_gateway", label: "g", credential })
        const { id: session_id } = await client.sessions.create({
          workspace_id,
          harness: { provider_id: "alpha", model: "scripted-1" }
        })
        const result_schema = { type: "object", required: ["done"] }
        return client.sessions.delegate({ session_id, role: "scout", instructions: "Look.", result_schema })
      })
      assert.strictEqual(answer.delegation.state, "pending")
      yield* stop(child, "SIGTERM")
    })
  )

  it.scopedLive("refuses a second service on the same data directory", () =>
    Effect.gen(function* () {
      const cwd = yield* directory
      const { child } = yield* start(cwd)
      const second = yield* run(cwd, ["serve", "--port", "0"])
      assert.strictEqual(second.code, 1)
      assert.match(second.stderr, /^reins: Another Reins server uses the data directory .+\n$/)
      yield* stop(child, "SIGTERM")
    })
  )

  it.scopedLive("says in a sentence what a person can mend, and fails", () =>
    Effect.gen(function* () {
      const cwd = yield* directory
      yield* install(cwd)
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, NodeJS.ProcessEnv, RegExp]> = [
        [["serve", "--port", "x"], {}, /^reins: The setting "port" has to be a port from 0 to 65535 .+\n$/],
        [["accounts", "create", "--email", "a@b.co"], {}, /^reins: There is no password\. .+\n$/],
        [["accounts", "create", "--email", "a@b.co"], { REINS_PASSWORD: "short" }, /^reins: password: .+\n$/],
        [["keys", "create", "--email", "a@b.co", "--name", "x"], {}, /^reins: There is no account of a@b\.co\. .+\n$/],
        [
          ["keys", "create", "--email", "a@b.co", "--name", "x", "--scopes", "root"],
          {},
          /^reins: There is no scope "root"\. .+\n$/
        ],
        [["harnesses", "install", "gamma"], {}, /^reins: gamma is disabled.+\n$/],
        [["harnesses", "install", "nope"], {}, /^reins: There is no agent "nope"\. .+\n$/],
        [
          ["harnesses", "install", "goose"],
          {},
          /^reins: goose is not enabled\. Run first: reins harnesses enable goose\n$/
        ],
        [["harnesses", "lock", "lodash@4"], {}, /^reins: "lodash@4" is not a package with an exact version.+\n$/],
        [
          ["serve", "--port", "0", "--manifests", "nowhere"],
          {},
          /^reins: The manifest \S+\/nowhere cannot be used: the directory cannot be read.+\n$/
        ]
      ]
      for (const [args, env, words] of cases) {
        const { code, stderr } = yield* run(cwd, args, { env })
        assert.strictEqual(code, 1, args.join(" "))
        assert.match(stderr, words)
      }
    })
  )

  it.scopedLive("shows its configuration and the providers", () =>
    Effect.gen(function* () {
      const cwd = yield* directory
      const config = yield* run(cwd, ["config", "--port", "1234"], { env: { REINS_SMTP_URL: "smtp://u:canary@mail" } })
      assert.nestedPropertyVal(JSON.parse(config.stdout), "port", 1234)
      assert.notInclude(config.stdout + config.stderr, "canary")
      const list = yield* run(cwd, ["harnesses", "list"])
      assert.match(
        list.stdout,
        /^PROVIDER +NAME +TIER +STATE +VERSION +PROVEN +SOURCE +RUNS ON\nalpha +\S+ +supported .* 6\/6 +built-in +Linux on x64 with glibc\n/
      )
      assert.match(list.stdout, /\ngoose .+ not enabled .+ optional +Linux on x64 with glibc\n/)
    })
  )

  it.scopedLive("offers what was enabled and what a directory adds, from its next start on", () =>
    Effect.gen(function* () {
      const cwd = yield* directory
      yield* install(cwd)
      assert.strictEqual((yield* run(cwd, ["harnesses", "enable", "goose", "claude"])).code, 0)
      assert.strictEqual((yield* run(cwd, ["harnesses", "disable", "claude"])).code, 0)
      const folder = join(cwd, "agents")
      mkdirSync(folder)
      writeFileSync(join(folder, "mine.json"), JSON.stringify({ ...gamma, provider_id: "mine", display_name: "Mine" }))
      const { child, ready } = yield* start(cwd, ["serve", "--port", "0", "--manifests", "agents"])
      const env = { REINS_PASSWORD: "correct horse battery staple" }
      yield* run(cwd, ["accounts", "create", "--email", "a@b.co"], { env })
      const made = yield* run(cwd, ["keys", "create", "--email", "a@b.co", "--name", "x"])
      const apiKey = /rk_[0-9A-Za-z]{49}/.exec(made.stdout)?.[0] ?? ""
      const reins = new Reins({ baseUrl: ready.url, apiKey })
      const { items } = yield* Effect.promise(() => reins.catalog.listHarnesses())
      const sources = items.map(({ digest, provider_id, source }) => [
        provider_id,
        source,
        /^sha256:[0-9a-f]{64}$/.test(digest)
      ])
      assert.deepStrictEqual(sources, [
        ...["alpha", "beta", "gamma", "delta", "epsilon", "zeta"].map((id) => [id, "built-in", true]),
        ["goose", "optional", true],
        ["mine", "mine.json", true]
      ])
      yield* stop(child, "SIGTERM")
      writeFileSync(join(folder, "mine.json"), JSON.stringify({ ...gamma, tier: "best" }))
      const doctor = yield* run(cwd, ["doctor", "--manifests", "agents"])
      assert.match(doctor.stdout, /\nfail +manifests +The manifest \S+\/mine\.json cannot be used: tier: /)
    })
  )
})
