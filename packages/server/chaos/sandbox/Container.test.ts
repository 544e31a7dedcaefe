import { execFile, spawnSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  constants as copying,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  symlinkSync
} from "node:fs"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { processesWhere, shown } from "@reins/testing/executor/Processes"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { cacheDir } from "@reins/testing/harness/Turns"
import { newCaller, newKey } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { published, startServer } from "@reins/testing/process/ServerProcess"
import { assertAnswers, beginTurn, endless } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, it } from "vitest"
import { dockerPlace } from "../../../../scripts/docker.mjs"
import { type EnginePlace, podmanPlace } from "../../../../scripts/podman.mjs"
import { assertSplitsUp } from "../agents/SplitUp.js"
import { escapesOn } from "./Escapes.js"

const place = placeForEachTest()

let engine: EnginePlace
beforeAll(async () => {
  engine = await (process.env["REINS_TEST_CONTAINER_ENGINE"] === "docker" ? dockerPlace() : podmanPlace())
})
afterAll(() => engine.remove())

/** The server of the user without rights, with the engine and the image. */
const contained = (env: Readonly<Record<string, string>> = {}) => {
  chmodSync(place.directory, 0o755)
  return {
    launcher: engine.launcher,
    env: { ...engine.env, REINS_EXECUTOR: "container", REINS_CONTAINER_IMAGE: engine.image, ...env }
  }
}

/** Copies installed agents to where the user without rights can read them, and gives the directory of their cache. */
const copyAgents = (prefixes: ReadonlyArray<string>): string => {
  const { directory } = place
  const cache = join(directory, "cache")
  const installed = join(cacheDir, "harnesses")
  for (const name of readdirSync(installed).filter((each) => prefixes.some((prefix) => each.startsWith(prefix))))
    cpSync(join(installed, name), join(cache, "harnesses", name), {
      recursive: true,
      mode: copying.COPYFILE_FICLONE
    })
  spawnSync("chown", ["-R", `${engine.uid}:${engine.gid}`, directory])
  return cache
}

/** The containers of the engine, also those that have ended. */
const containers = (): string => engine.engine("ps", "--all", "--quiet").trim()

/**
 * Docker leaves the files of /proc writable that belong to the agent, as those of its processes do, also of its init. That gains nothing, because
 * init has no more rights than the agent (`packages/core/test/executor/Container.test.ts`).
 */
const ownProcesses: Readonly<Record<EnginePlace["name"], ReadonlyArray<string>>> = {
  podman: [],
  docker: [
    "open /proc/1/oom_score_adj to write",
    "open /proc/self/oom_score_adj to write",
    "open /proc/self/uid_map to write",
    "open /proc/1/mem to write",
    "write to the memory of init"
  ]
}

it("no attempt gets out of a container, and nothing that it leaves behind does anything afterwards", async () => {
  const { count, misled, out, survived } = await escapesOn(place, {
    executor: "container",
    options: contained(),
    user: engine
  })
  assert.isAtLeast(count, 200)
  assert.deepStrictEqual([out, survived, misled], [ownProcesses[engine.name], [], []])
  process.stdout.write(`${engine.name}: ${count} attempts, 0 got out\n`)
})

it("the suite of the port holds in containers", async () => {
  const words = ["run", "--configLoader", "runner", "--mode", "container"]
  const [program = "", ...args] = [...engine.launcher, process.execPath, "node_modules/vitest/vitest.mjs", ...words]
  const options = {
    cwd: join(import.meta.dirname, "../../../.."),
    env: { ...process.env, ...engine.env, REINS_TEST_CONTAINER_IMAGE: engine.image, VITEST: "" }
  }
  // It takes longer than the runner of this file waits for a process that answers nothing.
  const failure = await new Promise<string | null>((resolve) =>
    execFile(program, args, options, (error, stdout, stderr) => resolve(error === null ? null : stdout + stderr))
  )
  assert.isNull(failure)
})

it("what a killed server has left in containers is ended by the next one, with the containers", async () => {
  const { directory, dataDir, gateway } = place
  const options = { ...contained({ REINS_CACHE_DIR: cacheWithSmallAgent(directory) }), dataDir }
  spawnSync("chown", ["-R", `${engine.uid}:${engine.gid}`, directory])
  const first = await startServer(options)
  const caller = await newCaller(first, dataDir, gateway)
  const client = caller.at(first)
  const session_id = await caller.newSession(client)
  const seconds = 100_000_000 + Math.floor(Math.random() * 800_000_000)
  const living = () => processesWhere((pid) => shown(pid, "cmdline").includes(`\0${seconds}\0`))
  const begun = await beginTurn(
    client,
    session_id,
    endless(`env -i setsid sleep ${seconds} </dev/null >/dev/null 2>&1 &`)
  )
  await eventually("the daemon is there", () => living().length === 1)
  first.kill("SIGKILL")
  await first.ended

  const second = await startServer(options)
  const turn = await caller.at(second).turns.wait({ turn_id: begun.turn_id })
  assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"])
  assert.deepStrictEqual(living(), [])
  assert.strictEqual(containers(), "")
  // An agent that is kept between turns ends with its server.
  await caller.at(second).turns.acknowledge({ turn_id: begun.turn_id })
  await assertAnswers(caller.at(second), session_id)
  assert.notStrictEqual(containers(), "")
  second.kill("SIGTERM")
  await second.ended
  assert.strictEqual(containers(), "")
})

it("a setup and the limits of a project hold in containers, and a real agent works there, also when it is kept", async () => {
  const { dataDir, gateway } = place
  const started = await startServer({ ...contained({ REINS_CACHE_DIR: copyAgents(["opencode-"]) }), dataDir })
  const caller = await newCaller(started, dataDir, gateway)
  const client = caller.at(started)
  const sh = (line: string) => ({ name: "step", argv: ["sh", "-c", line] })
  const large = "bash -c 'head -c 5000000 /dev/zero >large || echo refused; rm -f large' 2>/dev/null"
  const spec = {
    executor: { backend: "container" as const, limits: { disk_bytes: 1024 ** 2 } },
    harness: { provider_id: "alpha", model: "scripted-1" },
    setup: [sh(`id -u; ls ${dataDir}/keyring.json 2>/dev/null || echo alone; echo made >tool; ${large}`)],
    setup_network: "none" as const
  }
  const made = await client.projects.create({
    workspace_id: caller.workspaceId,
    slug: "contained",
    name: "Contained",
    spec
  })
  const { id: session_id } = await client.sessions.create({ workspace_id: caller.workspaceId, project_id: made.id })
  const { operation } = await client.sessions.activateExecutor({ session_id })
  await client.jobs.wait({ job_id: operation.job_id })
  const { items } = await client.sessions.listEvents({ session_id, types: "setup.progressed,setup.succeeded" })
  assert.strictEqual(
    items.map((event) => (event.type === "setup.progressed" ? event.payload.output : event.type)).join(""),
    `${engine.inside}\nalone\nrefused\nsetup.succeeded`
  )

  // Its agent has more files in its home than that.
  const { id: other } = await client.sessions.create({
    workspace_id: caller.workspaceId,
    executor: { backend: "container" },
    harness: spec.harness
  })
  const turn = async (cmd: string) => {
    const content = script("Work.", { tool: "bash", cmd }, { say: "It is done." })
    const { text, turn: ended } = await client.run({ session_id: other, content }).final()
    assert.deepStrictEqual([ended.state, text.trim()], ["succeeded", "It is done."], JSON.stringify(ended))
  }
  await turn("id -u >added.txt")
  const kept = containers()
  assert.isNotEmpty(kept)
  await turn("cat added.txt added.txt >twice.txt")
  assert.strictEqual(containers(), kept, "the second turn is that of the same agent")
  const [changeset] = (await client.sessions.listChangesets({ session_id: other })).items
  const { diff } = await client.changesets.getDiff({ changeset_id: changeset?.id ?? "" })
  assert.match(diff, new RegExp(`\\+${engine.inside}\\n\\+${engine.inside}`))
  started.kill("SIGTERM")
  await started.ended
  assert.strictEqual(containers(), "")
})

it("real agents in containers delegate to each other, and apply what comes of it", async () => {
  const { dataDir, gateway } = place
  const cache = copyAgents(["opencode-", "codex-acp-"])
  const started = await startServer({ ...contained({ REINS_CACHE_DIR: cache }), dataDir })
  const { at, workspaceId } = await newCaller(started, dataDir, gateway)
  for (const [parent, child] of [
    ["alpha", "beta"],
    ["beta", "alpha"]
  ] as const)
    await assertSplitsUp(at(started), workspaceId, { backend: "container", parent, child })
  started.kill("SIGTERM")
  await started.ended
  assert.strictEqual(containers(), "")
})

it("the catalog and doctor tell engine, version, image and what is held; the sentence says what is missing", async () => {
  const { dataDir, directory } = place
  const options = contained({ REINS_CACHE_DIR: join(directory, "cache"), REINS_AGENT_OPEN_FILES: "999" })
  spawnSync("chown", ["-R", `${engine.uid}:${engine.gid}`, directory])
  const server = await startServer({ ...options, dataDir })
  const client = new Reins({ baseUrl: server.url, apiKey: newKey(dataDir) })
  const { items } = await client.catalog.listExecutorBackends()
  const [, entry] = items
  assert.deepInclude(entry, { backend: "container", available: true, default: true })
  assert.deepStrictEqual(entry?.engine, {
    name: engine.name,
    version: engine.engine("--version").trim().split(/[ ,]+/)[2] ?? "",
    image: engine.image
  })
  assert.deepStrictEqual(entry?.limits.open_files, { value: 999, enforced_by: "rlimit" })
  for (const limit of [entry?.limits.memory_bytes, entry?.limits.processors])
    assert.deepStrictEqual([limit?.enforced_by, limit?.value === null], [engine.limitedBy, engine.limitedBy === null])
  assert.deepStrictEqual(
    items.map(({ available }) => available),
    [false, true, false]
  )

  const doctor = (env: Readonly<Record<string, string>>, user = engine.launcher) => {
    const words = [process.execPath, published, "doctor", "--data-dir", join(directory, "none")]
    const [program = "", ...args] = [...user, ...words]
    return spawnSync(program, args, { env: { ...process.env, ...options.env, ...env }, encoding: "utf8" }).stdout
  }
  assert.match(doctor({}), new RegExp(`^ok {4}sandbox {6}container: A container of ${engine.name}`, "m"))
  assert.match(doctor({ REINS_CONTAINER_IMAGE: "" }), /^fail.+sandbox .+needs an image: --container-image/im)
  assert.match(
    doctor({ REINS_CONTAINER_IMAGE: `localhost/none@sha256:${"1".repeat(64)}` }),
    new RegExp(`does not have the image: run ${engine.name} pull localhost/none@sha256`)
  )
  assert.match(doctor({}, []), /as root, an agent would be root in its container/)
  const bin = join(directory, "bin")
  mkdirSync(bin, { mode: 0o755 })
  symlinkSync(process.execPath, join(bin, "node"))
  assert.match(
    doctor({ PATH: bin, REINS_CONTAINER_ENGINE: "" }, [
      "/usr/bin/setpriv",
      ...engine.launcher.slice(engine.launcher.indexOf("setpriv") + 1)
    ]),
    /no container engine on the PATH/
  )
  const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
  const home = mkdtempSync(join(directory, "nobody-"))
  chownSync(home, 65534, 65534)
  const own = { HOME: home, XDG_RUNTIME_DIR: home, XDG_CACHE_HOME: home, REINS_CACHE_DIR: home }
  const refusal = {
    podman: /rootless containers are not set up for the service's user.+--add-subuids/,
    docker: /its daemon does not answer: start it, and give the service's user the right to use it/
  }
  assert.match(doctor(own, nobody), refusal[engine.name])
})
