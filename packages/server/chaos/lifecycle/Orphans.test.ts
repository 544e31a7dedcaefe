import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { delimiter, join } from "node:path"
import { agentsIn, processesWhere, shown } from "@reins/testing/executor/Processes"
import { agents, newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { beginTurn, endless } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { agent } from "../Volume.js"

const place = placeForEachTest(inHome)

/** The living processes with words in their command line and in their environment. */
const processes = (words: string, variable = ""): ReadonlyArray<number> =>
  processesWhere((pid) => shown(pid, "cmdline").includes(words) && shown(pid, "environ").includes(variable))

/**
 * A command that leaves four daemons behind: in a session of its own, forked twice, without its environment, and without anything of
 * its origin: another directory, no environment, no file. Each sleeps for seconds that nothing else on the machine does.
 */
const daemons = () => {
  const seconds = 100_000_000 + Math.floor(Math.random() * 800_000_000)
  const sleep = (index: number) => `sleep ${seconds}.${index}`
  const cmd = [
    `setsid nohup ${sleep(1)} >/dev/null 2>&1 &`,
    `sh -c '(setsid ${sleep(2)} </dev/null >/dev/null 2>&1 &)'`,
    `env -i setsid ${sleep(3)} </dev/null >/dev/null 2>&1 &`,
    `env -i setsid sh -c 'cd / && (exec ${sleep(4)} &)' </dev/null >/dev/null 2>&1 &`,
    // An agent may end the group of its tool as soon as that has ended, so each is given the time to leave it.
    `until [ "$(pgrep -fc '^sleep ${seconds}[.]')" = 4 ]; do sleep 0.1; done`,
    "echo begun"
  ].join("\n")
  const living = () => processes(`sleep\0${seconds}.`)
  return { cmd, living, allLive: () => eventually("the daemons are there", () => living().length === 4) }
}

/** A command that leaves two daemons behind with their marks: in a session of its own, and forked twice. */
const marked = () => {
  const seconds = 100_000_000 + Math.floor(Math.random() * 800_000_000)
  const cmd = [
    `setsid nohup sleep ${seconds}.1 >/dev/null 2>&1 &`,
    `sh -c '(setsid sleep ${seconds}.2 </dev/null >/dev/null 2>&1 &)'`,
    `until [ "$(pgrep -fc '^sleep ${seconds}[.]')" = 2 ]; do sleep 0.1; done`,
    "echo begun"
  ].join("\n")
  return { cmd, living: () => processes(`sleep\0${seconds}.`) }
}

const newSession = async (server: ServerProcess, provider_id: "alpha" | "beta", dataDir = place.dataDir) => {
  const caller = await newCaller(server, dataDir, place.gateway)
  const client = caller.at(server)
  return { caller, client, session_id: await caller.newSession(client, provider_id) }
}

for (const { provider_id } of agents) {
  it(`what an agent of ${provider_id} has detached before the server was killed is ended by the next server, and nothing of another installation`, async () => {
    const { dataDir } = place
    const elsewhere = join(place.directory, "elsewhere")
    const neighbour = await startServer({ dataDir: elsewhere, agent })
    const other = await newSession(neighbour, "alpha", elsewhere)
    const theirs = daemons()
    const theirTurn = await other.client.messages.send({ session_id: other.session_id, content: endless(theirs.cmd) })
    await theirs.allLive()

    const first = await startServer({ dataDir })
    const { caller, client, session_id } = await newSession(first, provider_id)
    const ours = daemons()
    const begun = await beginTurn(client, session_id, endless(ours.cmd))
    first.kill("SIGKILL")
    await first.ended
    assert.strictEqual(ours.living().length, 4)

    const second = await startServer({ dataDir })
    const turn = await caller.at(second).turns.wait({ turn_id: begun.turn_id })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"])
    assert.deepStrictEqual([ours.living(), agentsIn(dataDir)], [[], []])
    assert.strictEqual(theirs.living().length, 4)
    assert.isNotEmpty(agentsIn(elsewhere))
    assert.strictEqual((await other.client.turns.get({ turn_id: theirTurn.turn_id ?? "" })).state, "running")
    neighbour.kill("SIGTERM")
    assert.deepStrictEqual(await neighbour.ended, { code: 0, signal: null })
    assert.deepStrictEqual([theirs.living(), agentsIn(elsewhere)], [[], []])
  })

  it(`what an agent of ${provider_id} has detached is ended with its turn, also when that is cancelled`, async () => {
    const { dataDir } = place
    const server = await startServer({ dataDir })
    const { client, session_id } = await newSession(server, provider_id)
    const left = daemons()
    const content = script("Do it.", { tool: "bash", cmd: left.cmd }, { say: "Done." })
    const ended = await client.run({ session_id, content }).final()
    assert.strictEqual(ended.turn.state, "succeeded", JSON.stringify(ended.turn))
    assert.deepStrictEqual(left.living(), [])
    // The agent itself is kept for the next turn, and goes with that.
    assert.isNotEmpty(agentsIn(dataDir))

    const more = daemons()
    const sent = await client.messages.send({ session_id, content: endless(more.cmd) })
    await more.allLive()
    await client.turns.cancel({ turn_id: sent.turn_id ?? "" })
    assert.strictEqual((await client.turns.wait({ turn_id: sent.turn_id ?? "" })).state, "cancelled")
    assert.deepStrictEqual([more.living(), agentsIn(dataDir)], [[], []])
  })
}

it("without /proc, what bears a mark is ended by the next server, and with an agent that is cancelled", async () => {
  const { dataDir } = place
  const env = { REINS_WITHOUT_PROC: "1" }
  const first = await startServer({ dataDir, env })
  const { caller, client, session_id } = await newSession(first, "alpha")
  const [isolation] = (await client.catalog.listExecutorBackends()).items.filter((each) => each.default)
  assert.match(isolation?.note ?? "", /as ps tells them.*No promise holds/)
  const ours = marked()
  const begun = await beginTurn(client, session_id, endless(ours.cmd))
  first.kill("SIGKILL")
  await first.ended
  assert.lengthOf(ours.living(), 2)

  const second = await startServer({ dataDir, env })
  const again = caller.at(second)
  assert.strictEqual((await again.turns.wait({ turn_id: begun.turn_id })).reason, "service_restart")
  assert.deepStrictEqual([ours.living(), agentsIn(dataDir)], [[], []])

  const more = marked()
  const next = await newSession(second, "alpha")
  const turn = await beginTurn(next.client, next.session_id, endless(more.cmd))
  await next.client.turns.cancel({ turn_id: turn.turn_id })
  assert.strictEqual((await next.client.turns.wait({ turn_id: turn.turn_id })).state, "cancelled")
  assert.deepStrictEqual([more.living(), agentsIn(dataDir)], [[], []])
})

it("a clone that was running when the server was killed is ended before the next server clones again", async () => {
  const { dataDir } = place
  const sockets = new Set<{ readonly destroy: () => void }>()
  const silent = createServer((socket) => sockets.add(socket.on("error", () => undefined)))
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve))
  const address = silent.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const cloning = () => {
    const found = processes(dataDir, "REINS_BOOT=")
    return found.length > 0 && found
  }
  try {
    const first = await startServer({ dataDir })
    const caller = await newCaller(first, dataDir, place.gateway)
    const session = await caller.at(first).sessions.create({
      workspace_id: caller.workspaceId,
      harness: { provider_id: "alpha", model: "scripted-1" },
      repository: { url: `http://127.0.0.1:${port}/never.git` },
      message: "Hello."
    })
    await eventually("it clones", () => sockets.size > 0)
    const left = await eventually("git runs", cloning)
    const [boot = ""] = /REINS_BOOT=\w+/.exec(shown(left[0] ?? 0, "environ")) ?? []
    const ofFirst = () => processes("git", boot)
    assert.isAtLeast(ofFirst().length, 2)
    first.kill("SIGKILL")
    await first.ended

    const second = await startServer({ dataDir })
    const ofSecond = () => (cloning() || []).find((pid) => !shown(pid, "environ").includes(boot))
    await eventually("the second server clones", ofSecond)
    assert.deepStrictEqual(ofFirst(), [])
    const [turn] = (await caller.at(second).turns.list({ session_id: session.id })).items
    assert.strictEqual(turn?.state, "preparing")
    second.kill("SIGTERM")
    await second.ended
    assert.isFalse(cloning())
  } finally {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => silent.close(resolve))
  }
})

it("the key for SSH and the socket of a sandbox that a killed server left are gone once the next one has started", async () => {
  const { dataDir, directory } = place
  const temporary = join(directory, "tmp")
  const programs = join(directory, "programs")
  for (const each of [temporary, programs]) mkdirSync(each)
  // An ssh that is connected for ever.
  writeFileSync(join(programs, "ssh"), `#!/bin/sh\nexec sleep 300\n`)
  chmodSync(join(programs, "ssh"), 0o755)
  const env = {
    PATH: `${programs}${delimiter}${process.env["PATH"] ?? ""}`,
    REINS_ALLOW_SSH_REPOSITORIES: "true",
    REINS_EXECUTOR: "bubblewrap",
    TMPDIR: temporary
  }
  const left = (kind: string) => readdirSync(temporary).filter((name) => name.startsWith(`reins-${kind}-`))
  const first = await startServer({ dataDir, env })
  const { caller, client, session_id } = await newSession(first, "alpha")
  await beginTurn(client, session_id)
  const credential = { origin: "ssh://127.0.0.1:2222", known_hosts: "h ssh-ed25519 A", private_key: "canary-Tk5wQ9" }
  const key = await client.connections.create({
    workspace_id: caller.workspaceId,
    kind: "git_ssh",
    label: "deploy",
    credential
  })
  const project = await client.projects.create({
    workspace_id: caller.workspaceId,
    slug: "ssh",
    name: "SSH",
    spec: { connection_ids: [key.id] }
  })
  await client.sessions.create({
    workspace_id: caller.workspaceId,
    project_id: project.id,
    harness: { provider_id: "alpha", model: "scripted-1" },
    repository: { url: "ssh://git@127.0.0.1:2222/a.git" },
    message: "Hello."
  })
  const [folder = ""] = await eventually("git has the key", () => left("ssh").length > 0 && left("ssh"))
  const file = join(temporary, folder, "key")
  await eventually("the key is written", () => existsSync(file) && readFileSync(file, "utf8").includes("canary-Tk5wQ9"))
  assert.isNotEmpty(left("way"))
  const before = [...left("ssh"), ...left("way")]
  first.kill("SIGKILL")
  await first.ended
  assert.includeMembers(readdirSync(temporary), before)

  const second = await startServer({ dataDir, env })
  await eventually("they are gone", () => !before.some((name) => readdirSync(temporary).includes(name)))
  second.kill("SIGTERM")
  await second.ended
  assert.deepStrictEqual([left("ssh"), left("way")], [[], []])
})
