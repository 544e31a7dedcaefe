import { spawn } from "node:child_process"
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { processesWhere, shown } from "@reins/testing/executor/Processes"
import { installedFrom, registry } from "@reins/testing/harness/Registry"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { password } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { published } from "@reins/testing/process/ServerProcess"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Scope } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { type At, makeInstallation, reinsAt, worldForFile } from "./Cli.js"

const place = placeForEachTest()
const world = worldForFile()
let scope: Scope.CloseableScope
beforeEach(async () => {
  scope = await Effect.runPromise(Scope.make())
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

type Stream = "stdout" | "stderr"

/** A command whose outputs are read until `leave`. Nobody reads those of `unread` from the beginning. */
const running = ({ cwd, env }: At, args: ReadonlyArray<string>, unread: ReadonlyArray<Stream> = []) => {
  const child = spawn(process.execPath, [published, ...args], { cwd, env: { ...process.env, ...env } })
  let text = ""
  for (const stream of ["stdout", "stderr"] as const) {
    if (unread.includes(stream)) child[stream].destroy()
    else child[stream].on("data", (chunk) => (text += String(chunk)))
  }
  child.stdin.end()
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve))
  return {
    until: (words: RegExp) => eventually(`${words}`, () => words.test(text)),
    leave: (...streams: ReadonlyArray<Stream>) => {
      for (const stream of streams) child[stream].destroy()
    },
    /** Its status, once it has ended, without a stack in what was read. */
    ended: async () => {
      const status = await ended
      assert.notMatch(text, /^ +at |EPIPE/m)
      return status
    }
  }
}

const here = (env: Readonly<Record<string, string>> = {}): At => ({ cwd: place.directory, env })
const readerGone = 141

const succeed = async (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
  const { status, stderr, stdout } = await reinsAt(here(env), args)
  assert.strictEqual(status, 0, `${args.join(" ")}: ${stderr}`)
  return stdout
}

describe("a command whose reader goes away", () => {
  for (const [streams, status] of [
    [["stderr"], 0],
    [["stdout"], readerGone],
    [["stdout", "stderr"], readerGone]
  ] as const)
    it(`installs an agent whole when ${streams.join(" and ")} is read no more in the midst of it`, async () => {
      const { cacheDir, held, packages, release, url } = await Effect.runPromise(Scope.extend(registry, scope))
      const manifests = join(place.directory, "manifests")
      mkdirSync(manifests)
      writeFileSync(join(manifests, "alpha.json"), JSON.stringify(installedFrom(packages)))
      const env = { REINS_NPM_REGISTRY: url, REINS_CACHE_DIR: cacheDir, REINS_DATA_DIR: place.dataDir }
      held.add("@scope/dependency")
      const install = running(here(env), ["harnesses", "install", "alpha", "--manifests", manifests])
      await install.until(/agent/)
      install.leave(...streams)
      release()
      assert.strictEqual(await install.ended(), status)
      const listed = await succeed(["harnesses", "list", "--manifests", manifests], env)
      assert.match(listed, /^alpha .* installed /m)
    })

  it("backs up, restores, migrates and rotates keys whole when nobody reads a word of it", async () => {
    const both = ["stdout", "stderr"] as const
    await makeInstallation(place.dataDir)
    const data = ["--data-dir", place.dataDir]
    const copy = ["--data-dir", join(place.directory, "copy")]
    const [file, ring] = [join(place.directory, "backup.tar"), join(place.dataDir, "keyring.json")]
    for (const args of [
      ["migrate", ...data],
      ["keyring", "rotate", ...data],
      ["backup", file, ...data],
      ["restore", file, "--keyring", ring, ...copy],
      ["keyring", "rotate", ...copy],
      ["migrate", ...copy]
    ])
      assert.strictEqual(await running(here(), args, both).ended(), readerGone, args.join(" "))
    for (const at of [data, copy]) {
      const { stdout } = await reinsAt(here(), ["doctor", "--json", ...at])
      const { checks }: { readonly checks: ReadonlyArray<Record<"check" | "state" | "detail", string>> } =
        JSON.parse(stdout)
      const stateOf = (name: string) => checks.find(({ check }) => check === name)?.state
      assert.deepStrictEqual(["database", "key ring", "files"].map(stateOf), ["ok", "ok", "ok"], stdout)
    }
    assert.deepStrictEqual(readdirSync(place.directory).sort(), ["backup.tar", "copy", "data"])
  })

  it("leaves no server behind that the set-up has started", async () => {
    const port = String(await steadyPort())
    const env = {
      HOME: place.directory,
      XDG_CONFIG_HOME: join(place.directory, "config"),
      REINS_CACHE_DIR: cacheWithSmallAgent(place.directory),
      REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1",
      REINS_PORT: port,
      REINS_PASSWORD: password,
      REINS_GATEWAY_KEY: "gateway-key-canary",
      REINS_DATA_DIR: place.dataDir
    }
    const flags = ["--email", "me@example.com", "--gateway", place.gateway.url, "--model", "scripted-1"]
    assert.strictEqual(await running(here(env), ["init", ...flags], ["stdout"]).ended(), readerGone)
    const left = processesWhere((pid) => shown(pid, "environ").includes(`REINS_DATA_DIR=${place.dataDir}\0`))
    assert.deepStrictEqual(left, [])
    await succeed(["migrate", "--data-dir", place.dataDir])
  })

  it("lets the turn go on that it followed", async () => {
    const { at, client, workspaceId } = world()
    const run = running(at, ["run", endlessTool("echo begun; tail -s 37 -f /dev/null"), "--model", "scripted-1"])
    await run.until(/^Session sess_/m)
    const session_id = await eventually("the session", async () => {
      const { items } = await client.sessions.list({ workspace_id: workspaceId })
      return items[0]?.id
    })
    await eventually("a running tool", async () =>
      (await client.sessions.listEvents({ session_id })).items.some(({ type }) => type === "tool.started")
    )
    const watch = running(at, ["sessions", "watch", session_id, "--json"])
    await watch.until(/tool\.started/)
    run.leave("stdout")
    watch.leave("stdout")
    const [turn] = (await client.turns.list({ session_id })).items
    assert.strictEqual(turn?.state, "running")
    await client.turns.cancel({ turn_id: turn?.id ?? "" })
    assert.deepStrictEqual([await run.ended(), await watch.ended()], [readerGone, readerGone])
    const { text } = await client.run({ session_id, content: script("Go on.", { say: "Here." }) }).final()
    assert.strictEqual(text.trim(), "Here.")
  })
})
