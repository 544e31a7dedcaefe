import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import type { Reins } from "@reins/client"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { type Caller, newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { assertAnswers, beginTurn, endless, endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { type Delegated, delegated } from "./Delegated.js"

const place = placeForEachTest()

const mebibyte = 1024 ** 2
const memory = 192 * mebibyte
const processes = 64
const processors = 0.5

const users = { root: { uid: 0, gid: 0 }, "a user without rights": { uid: 65534, gid: 65534 } }

/** A server in a cgroup of its own, with small limits for agents. */
const limited = async (cgroup: Delegated, user: { readonly uid: number; readonly gid: number }) => {
  const { dataDir, directory, gateway } = place
  const cache = cacheWithSmallAgent(directory)
  chmodSync(directory, 0o755)
  spawnSync("chown", ["-R", `${user.uid}:${user.gid}`, directory])
  const env = {
    HOME: directory,
    REINS_EXECUTOR: "bubblewrap",
    REINS_CACHE_DIR: cache,
    REINS_AGENT_MEMORY_BYTES: String(memory),
    REINS_AGENT_PROCESSES: String(processes),
    REINS_AGENT_PROCESSORS: String(processors)
  }
  const server = await startServer({ dataDir, launcher: cgroup.launcher, env })
  const caller = await newCaller(server, dataDir, gateway)
  return { server, caller, client: caller.at(server) }
}

/** Runs a line of a shell in a turn, and gives the end of the turn. */
const bash = async (client: Reins, session_id: string, cmd: string) => {
  const content = script("Work.", { tool: "bash", cmd }, { say: "Done." })
  return (await client.run({ session_id, content }).final()).turn
}

const allocating = (bytes: number): string => `perl -e '$x = "x" x ${bytes}; print length $x'`

/** A project whose agents may take less than those of the server, and a session of it. */
const lowered = async (client: Reins, { workspaceId }: Caller, limits: object) => {
  const spec = {
    executor: { backend: "bubblewrap" as const, limits },
    harness: { provider_id: "alpha", model: "scripted-1" }
  }
  const { id } = await client.projects.create({ workspace_id: workspaceId, slug: "small", name: "Small", spec })
  return (await client.sessions.create({ workspace_id: workspaceId, project_id: id })).id
}

const numberIn = (text: string, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? Number.NaN)

for (const [name, user] of Object.entries(users)) {
  it(`agents of ${name} are held to memory, processes and processors by cgroups, which end with them`, async () => {
    const cgroup = delegated(user)
    const { caller, client, server } = await limited(cgroup, user)
    const { items } = await client.catalog.listExecutorBackends()
    const limits = items.find(({ backend }) => backend === "bubblewrap")?.limits
    assert.deepStrictEqual(
      [limits?.memory_bytes, limits?.processes, limits?.processors],
      [memory, processes, processors].map((value) => ({ value, enforced_by: "cgroup_v2" }))
    )
    const session = await caller.newSession(client)
    const fileOf = (path: string) => readFileSync(join(place.dataDir, "sessions", session, "workspace", path), "utf8")

    // Below the limit the kernel counts what there is.
    assert.strictEqual((await bash(client, session, allocating(64 * mebibyte))).state, "succeeded")
    const peak = Number(cgroup.read("memory.peak"))
    assert.isAtLeast(peak, 64 * mebibyte)
    assert.isAtMost(peak, memory)

    const tooMuch = await bash(client, session, allocating(2 * memory))
    assert.deepStrictEqual([tooMuch.state, tooMuch.reason], ["failed", "harness_crashed"], JSON.stringify(tooMuch))
    assert.include(
      tooMuch.reason_message ?? "",
      "The agent was ended because it may have 192 MiB of memory, and took more than that."
    )
    await assertAnswers(client, session)

    const forks =
      "my $n = 0; while ($n < 200) { my $p = fork; last unless defined $p; if (!$p) { sleep 600 } $n++ } print $n"
    assert.strictEqual((await bash(client, session, `perl -e '${forks}' >forked`)).state, "succeeded")
    const forked = Number(fileOf("forked"))
    assert.isAtLeast(forked, 8)
    assert.isBelow(forked, processes)
    assert.isAtLeast(numberIn(cgroup.read("pids.events"), "max"), 1)

    const busy = await beginTurn(
      client,
      session,
      endlessTool("while :; do :; done & while :; do :; done"),
      "tool.started"
    )
    const spent = () => numberIn(cgroup.read("cpu.stat"), "usage_usec")
    await eventually("it is held back", () => numberIn(cgroup.read("cpu.stat"), "nr_throttled") > 5)
    const [begun, before] = [performance.now(), spent()]
    await pause(3000)
    const share = (spent() - before) / 1000 / (performance.now() - begun)
    assert.isAtMost(share, processors * 1.3)
    await client.turns.cancel({ turn_id: busy.turn_id })
    await client.turns.wait({ turn_id: busy.turn_id })

    const small = await lowered(client, caller, { memory_bytes: 96 * mebibyte, processes: 48 })
    const less = await bash(client, small, allocating(128 * mebibyte))
    assert.include(less.reason_message ?? "", "it may have 96 MiB of memory")
    server.kill("SIGTERM")
    await server.ended
    assert.deepStrictEqual(cgroup.agents(), [])
    cgroup.remove()
  })
}

it("of a killed server no agent is left in its cgroups, so that systemd can remove them", async () => {
  const cgroup = delegated()
  const { caller, client, server } = await limited(cgroup, users.root)
  await beginTurn(client, await caller.newSession(client), endless("setsid sleep 1009 & sleep 1009 &"))
  const [agent = ""] = cgroup.agents()
  assert.isAbove(Number(cgroup.read("pids.current")), 2)
  server.kill("SIGKILL")
  await server.ended
  await eventually("all of its processes have ended", () =>
    /^populated 0$/m.test(readFileSync(join(agent, "cgroup.events"), "utf8"))
  )
  cgroup.remove()
  assert.isFalse(existsSync(agent))
})
