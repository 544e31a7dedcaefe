import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { bareRemote } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import type { Caller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { reinsAside, type ServerProcess } from "@reins/testing/process/ServerProcess"
import { assertAnswers, beginTurn, endlessTool, wholeLog } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Scope } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { allSealed, type Machine, type Machines, newMachines, twoMachines } from "./Machines.js"
import { read, works } from "./Working.js"

const place = placeForEachTest()

/** Lost sessions go to other nodes at once, because the disk of these machines never comes back. */
const atOnce = { REINS_NODE_RECLAIM_SECONDS: "0" }

/** Two nodes, and a session on one of them whose turn has written files. */
const two = (settings: Readonly<Record<string, string>> = {}) =>
  twoMachines(
    place,
    (caller, server, session_id) =>
      works(
        caller,
        server,
        session_id,
        "The word is heliotrope.",
        "echo kept > kept.txt; echo secret > .env; mkdir empty"
      ),
    settings
  )

const sessionsOf = (machines: Machines, { name }: Machine) =>
  machines.list().find((node) => node.name === name)?.sessions

/** The events that tell of a workspace which was made again. */
const restorations = async (caller: Caller, server: ServerProcess, session_id: string) =>
  (await wholeLog(caller.at(server), session_id)).flatMap((event) =>
    event.type === "workspace.restored" && event.payload.snapshot_id !== null ? [event.payload] : []
  )

it("a drained node gives its sessions away, sealed, and they go on with their files and their conversation", async () => {
  const { caller, machines, other, owner, session_id } = await two()
  const drained = machines.command("node", "drain", owner.name, "--wait")
  assert.match(drained.stderr, /has no session any more/)
  assert.strictEqual(sessionsOf(machines, owner), 0)
  assert.isFalse(existsSync(join(owner.dataDir, "sessions", session_id, "workspace")))

  await works(caller, other, session_id, "What was the word?", "cat kept.txt .env > seen.txt; ls -d empty >> seen.txt")
  assert.include(JSON.stringify(place.gateway.requests.at(-1)?.messages), "heliotrope")
  assert.include((await read(caller, other, session_id, "seen.txt")).text, "kept\\nsecret\\nempty")
  const [restored, ...more] = await restorations(caller, other, session_id)
  assert.isNull(restored?.lost_turn)
  assert.isEmpty(more)
  const changesets = await caller.at(other).sessions.listChangesets({ session_id })
  for (const { id } of changesets.items) await caller.at(other).changesets.getDiff({ changeset_id: id })
})

it("two nodes that drain at once give their sessions to the third, each whole", async () => {
  const machines = await newMachines(place)
  const [a, b, c] = [await machines.machine("a"), await machines.machine("b"), await machines.machine("c")]
  const server = await a.start()
  await b.start()
  const third = await c.start()
  const caller = await machines.caller(server)
  const ids = await Promise.all(Array.from({ length: 4 }, () => caller.newSession(caller.at(third))))
  for (const id of ids) await works(caller, third, id, "Begin.", `echo ${id} > kept.txt`)
  const drain = ({ name }: Machine) =>
    reinsAside(join(place.directory, "operator"), ["node", "drain", name, "--wait"], { env: machines.env })
  for (const { status, stderr } of await Promise.all([drain(a), drain(b)])) assert.strictEqual(status, 0, stderr)
  for (const id of ids) {
    await works(caller, third, id, "Go on.", "cp kept.txt copy.txt")
    assert.include((await read(caller, third, id, "copy.txt")).text, id)
  }
  assert.deepStrictEqual(
    [a, b, c].map((machine) => sessionsOf(machines, machine)),
    [0, 0, ids.length]
  )
})

it("a turn that runs ends by itself before its session leaves a drained node", async () => {
  const { caller, machines, other, owner, session_id } = await two()
  const begun = await beginTurn(caller.at(other), session_id, endlessTool(), "tool.started")
  machines.command("node", "drain", owner.name)
  const queued = await caller.at(other).messages.send({ session_id, content: script("Next.", { say: "Here." }) })
  assert.strictEqual((await caller.at(other).turns.get({ turn_id: begun.turn_id })).state, "running")
  await caller.at(other).turns.cancel({ turn_id: begun.turn_id })
  await eventually("the session has left", () => sessionsOf(machines, owner) === 0)
  const next = await caller.at(other).turns.wait({ turn_id: queued.turn_id ?? "" })
  assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
})

it("a machine that burns takes nothing but the files of its running turn", async () => {
  const { caller, machines, other, owner, server, session_id } = await two(atOnce)
  await allSealed(other)
  const begun = await beginTurn(caller.at(other), session_id, endlessTool(), "tool.started")
  server.kill("SIGKILL")
  await server.ended
  rmSync(owner.dataDir, { recursive: true, force: true })
  await eventually("the turn of the lost machine has ended", async () => {
    const turn = await caller.at(other).turns.get({ turn_id: begun.turn_id })
    return turn.state === "interrupted"
  })
  await caller.at(other).turns.acknowledge({ turn_id: begun.turn_id })
  await works(caller, other, session_id, "What was the word?", "cat kept.txt .env > seen.txt")
  assert.include(JSON.stringify(place.gateway.requests.at(-1)?.messages), "heliotrope")
  assert.include((await read(caller, other, session_id, "seen.txt")).text, "kept\\nsecret")
  assert.strictEqual((await restorations(caller, other, session_id))[0]?.lost_turn, begun.turn_id)
  assert.strictEqual(sessionsOf(machines, owner), 0)

  // The machine comes back with an empty disk, and serves.
  const back = await owner.start()
  assert.strictEqual((await read(caller, back, session_id, "kept.txt")).status, 200)
})

it("a node that comes back after its sessions went elsewhere moves their files away and uses the others", async () => {
  const { caller, machines, other, owner, server, session_id } = await two(atOnce)
  await allSealed(other)
  server.kill("SIGKILL")
  await server.ended
  await eventually(
    "its lease has run out",
    () => machines.list().find(({ name }) => name === owner.name)?.state === "lost"
  )
  await works(caller, other, session_id, "Go on.", "echo more >> kept.txt")

  const back = await owner.start()
  const found = join(owner.dataDir, "lost+found")
  const aside = () => (existsSync(found) ? readdirSync(found) : [])
  await eventually("the files are moved away", () =>
    aside().some((name) => existsSync(join(found, name, "workspace", "kept.txt")))
  )
  const [name = "", ...more] = aside()
  assert.match(name, new RegExp(`^${session_id}-\\d+$`))
  assert.isEmpty(more)
  assert.include((await read(caller, back, session_id, "kept.txt")).text, "kept\\nmore")
  await assertAnswers(caller.at(back), session_id)
})

it("a session that goes to another node and comes back uses what it was sealed with there", async () => {
  const { caller, machines, other, otherMachine, owner, server, session_id } = await two()
  machines.command("node", "drain", owner.name, "--wait")
  await works(caller, other, session_id, "Go on.", "echo there > there.txt; rm kept.txt")
  server.kill("SIGTERM")
  await server.ended
  const back = await owner.start()
  machines.command("node", "drain", otherMachine.name, "--wait")
  await works(caller, back, session_id, "Go on.", "ls > seen.txt")
  const seen = await read(caller, back, session_id, "seen.txt")
  assert.include(seen.text, "there.txt")
  assert.notInclude(seen.text, "kept.txt")
})

it("a changeset is applied to a session of another node", async () => {
  const { caller, machines, other, owner, otherMachine, session_id } = await two()
  await allSealed(other)
  const client = caller.at(other)
  const [changeset] = (await client.sessions.listChangesets({ session_id })).items
  const target = await caller.newSession(client)
  await assertAnswers(client, target)
  assert.deepStrictEqual([sessionsOf(machines, owner), sessionsOf(machines, otherMachine)], [1, 1])
  const changeset_id = changeset?.id ?? ""
  const { application } = await client.changesets.apply({ changeset_id, target_session_id: target, strategy: "exact" })
  await eventually(
    "it is applied",
    async () => (await client.applications.get({ application_id: application.id })).state === "applied"
  )
  assert.include((await read(caller, other, target, "kept.txt")).text, "kept")
})

it("a session of a repository has its objects from a store of the node that it goes to, which it fills where it has none", async () => {
  const machines = await newMachines(place)
  const [a, b] = [await machines.machine("a", allowed), await machines.machine("b", allowed)]
  const server = await a.start()
  const caller = await machines.caller(server)
  const scope = await Effect.runPromise(Scope.make())
  try {
    const url = await served(scope)
    const begin = async () => {
      const repository = { url }
      const harness = { provider_id: "alpha", model: "scripted-1" }
      const { id } = await caller.at(server).sessions.create({ workspace_id: caller.workspaceId, harness, repository })
      await works(caller, server, id, "Begin.", "cat a.txt > seen.txt; git log --format=%s > log.txt")
      return id
    }
    const ids = [await begin(), await begin()]
    assert.deepStrictEqual(storesOf(a, ids), { stores: 1, named: [storeAt(a), storeAt(a)] })
    await allSealed(server)
    const other = await b.start()
    machines.command("node", "drain", "a", "--wait")
    for (const id of ids) {
      await works(
        caller,
        other,
        id,
        "Go on.",
        "git log --format=%s | cmp - log.txt && git fsck --connectivity-only && echo whole > whole.txt"
      )
      assert.include((await read(caller, other, id, "whole.txt")).text, "whole")
      assert.include((await read(caller, other, id, "seen.txt")).text, "one")
    }
    assert.deepStrictEqual(storesOf(b, ids), { stores: 1, named: [storeAt(b), storeAt(b)] })
    assert.deepStrictEqual(storesOf(a, ids).named, [null, null])
    // Without its store the node asks the remote again before the next turn.
    rmSync(join(b.dataDir, "object-stores"), { recursive: true, maxRetries: 20 })
    for (const id of ids) {
      await works(caller, other, id, "Go on.", "git fsck --connectivity-only && git log --format=%s | cmp - log.txt")
      const [changeset] = (await caller.at(other).sessions.listChangesets({ session_id: id })).items
      assert.include(
        (await caller.at(other).changesets.getDiff({ changeset_id: changeset?.id ?? "" })).diff,
        "whole.txt"
      )
    }
    assert.deepStrictEqual(storesOf(b, ids), { stores: 1, named: [storeAt(b), storeAt(b)] })
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
})

/** The repository is at an address of this machine. */
const allowed = { REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1" }

/** The URL of a repository with one file, until the scope closes. */
const served = (scope: Scope.Scope) => {
  const root = join(place.directory, "remote")
  mkdirSync(root)
  bareRemote(root, { "a.txt": "one\n" })
  const serving = Effect.provideService(gitHttpServer(root, null), Scope.Scope, scope)
  return Effect.runPromise(Effect.map(serving, ({ url }) => `${url}/remote.git`))
}

/** The directory of the only object store of a machine. */
const storeAt = ({ dataDir }: Machine): string => {
  const root = join(dataDir, "object-stores")
  const name = readdirSync(root).find((each) => /^[0-9a-f]{64}$/.test(each)) ?? ""
  return join(root, name, "objects")
}

/** The object stores of a machine, and the one that each session names there; null for a session that is not there. */
const storesOf = ({ dataDir }: Machine, ids: ReadonlyArray<string>) => ({
  stores: readdirSync(join(dataDir, "object-stores")).filter((name) => /^[0-9a-f]{64}$/.test(name)).length,
  named: ids.map((id) => {
    const alternates = join(dataDir, "sessions", id, "trusted.git/objects/info/alternates")
    return existsSync(alternates) ? readFileSync(alternates, "utf8").trimEnd() : null
  })
})
