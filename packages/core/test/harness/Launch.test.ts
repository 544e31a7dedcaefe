import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { assert, it } from "@effect/vitest"
import * as Launch from "@reins/machine/harness/Launch"
import type { Runtime } from "@reins/machine/harness/Manifest"
import { place, scriptedManifest, turnInput } from "@reins/testing/harness/Turns"
import { Effect, Redacted } from "effect"

const withFiles = (files: Runtime["launch"]["profiles"][number]["files"]): Runtime => {
  const { runtime } = scriptedManifest()
  if (runtime === null) throw new Error("the scripted agent has a runtime")
  const profile = { id: "none", when: { connection: false }, environment: {}, files }
  return { ...runtime, launch: { ...runtime.launch, profiles: [profile] } }
}

it.scopedLive("the files of a profile are written for the agent alone", () =>
  Effect.gen(function* () {
    const where = yield* place
    const runtime = withFiles([{ path: ".config/agent.toml", content: "home = {{json home}}\n" }])
    const command = yield* Launch.prepareLaunch(turnInput(where, "x"), runtime)
    const file = path.join(where.homeDir, ".config/agent.toml")
    assert.strictEqual(readFileSync(file, "utf8"), `home = ${JSON.stringify(where.homeDir)}\n`)
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    assert.strictEqual(command.executable, process.execPath)
  })
)

it.scopedLive("an agent finds the proxy of its project in its environment, and none without one", () =>
  Effect.gen(function* () {
    const where = yield* place
    const passage = { url: Redacted.make("http://id:token@127.0.0.1:3128"), port: 3128, refused: () => undefined }
    const { environment } = yield* Launch.prepareLaunch(turnInput(where, "x", { passage }), withFiles([]))
    for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"])
      assert.strictEqual(environment[name], passage.url)
    const without = yield* Launch.prepareLaunch(turnInput(where, "x"), withFiles([]))
    assert.notMatch(Object.keys(without.environment).join(), /proxy/i)
  })
)

it.scopedLive("an agent that could reach no model in its executor is refused before it starts", () =>
  Effect.gen(function* () {
    const where = yield* place
    const runtime = withFiles([])
    const withSecret = { id: "any", when: { connection: true }, environment: {}, files: [] }
    const connected = { ...runtime, launch: { ...runtime.launch, profiles: [withSecret] } }
    const connection = { kind: "own", settings: {}, secrets: { token: Redacted.make("secret") } }
    const open = turnInput(where, "x", { connection })
    const closed = {
      ...open,
      executor: { ...open.executor, isolation: { ...open.executor.isolation, network: "restricted" as const } }
    }
    yield* Launch.prepareLaunch(open, connected)
    const { message, reason } = yield* Effect.flip(Launch.prepareLaunch(closed, connected))
    assert.strictEqual(reason, "credential_invalid")
    assert.match(message, /would reach no model in the executor "local", because its connection of the kind "own"/)
    yield* Launch.prepareLaunch({ ...closed, connection: { ...connection, relayPort: 3129 } }, connected)
    const passage = { url: Redacted.make("http://id:token@127.0.0.1:3128"), port: 3128, refused: () => undefined }
    const { relayPorts } = yield* Launch.prepareLaunch({ ...closed, passage }, connected)
    assert.deepStrictEqual(relayPorts, [3128])
  })
)

it.scopedLive("a link that an agent left in its home does not lead a write out of it", () =>
  Effect.gen(function* () {
    const { homeDir, root, workspaceDir } = yield* place
    const outside = path.join(root, "outside")
    mkdirSync(outside)
    mkdirSync(homeDir)
    writeFileSync(path.join(outside, "file"), "untouched")
    symlinkSync(outside, path.join(homeDir, "directory"))
    symlinkSync(path.join(outside, "file"), path.join(homeDir, "file"))
    const runtime = withFiles([
      { path: "directory/agent.toml", content: "a" },
      { path: "file", content: "b" }
    ])
    yield* Launch.prepareLaunch(turnInput({ homeDir, workspaceDir }, "x"), runtime)
    assert.strictEqual(readFileSync(path.join(homeDir, "directory/agent.toml"), "utf8"), "a")
    assert.strictEqual(readFileSync(path.join(homeDir, "file"), "utf8"), "b")
    assert.isFalse(existsSync(path.join(outside, "agent.toml")))
    assert.strictEqual(readFileSync(path.join(outside, "file"), "utf8"), "untouched")
  })
)
