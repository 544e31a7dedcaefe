import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Caller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { reins, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { beginTurn, endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { listingOf } from "@reins/testing/sessions/Listing"
import { assert, it } from "vitest"
import { allSealed, type Machine, type Machines, twoMachines } from "./Machines.js"
import { read, works } from "./Working.js"

const place = placeForEachTest()

const write =
  "echo kept > kept.txt; echo secret > .env; mkdir -m 700 empty; ln -s kept.txt link; echo '#!/bin/sh' > run.sh; chmod 755 run.sh"

/** Two nodes, each with a session whose turn has written files. */
const bothWork = async () => {
  const two = await twoMachines(place, (caller, server, id) =>
    works(caller, server, id, "The word is heliotrope.", write)
  )
  const second = await two.caller.newSession(two.caller.at(two.other))
  await works(two.caller, two.other, second, "The word is heliotrope.", write)
  assert.sameMembers(
    two.machines.list().map(({ sessions }) => sessions),
    [1, 1]
  )
  await allSealed(two.other)
  return { ...two, sessions: [two.session_id, second] }
}

/** The newest line that a command has printed, as JSON. */
const answerOf = ({ stdout }: ReturnType<typeof reins>) => JSON.parse(stdout.trim().split("\n").at(-1) ?? "null")

const backUp = (machines: Machines, name: string, from?: Machine) => {
  const file = join(place.directory, name)
  const args = ["backup", "--files-only", file]
  const done = from === undefined ? machines.command(...args) : reins(from.dataDir, args, machines.env)
  return { ...done, file }
}

const treeOf = (dataDir: string, id: string) => listingOf(join(dataDir, "sessions", id, "workspace"))

const diffOf = async (caller: Caller, server: Pick<ServerProcess, "url">, session_id: string) => {
  const client = caller.at(server)
  const [changeset] = (await client.sessions.listChangesets({ session_id })).items
  return (await client.changesets.getDiff({ changeset_id: changeset?.id ?? "" })).diff
}

it("a backup from any machine has the sessions of every node, and they go on where it is restored", async () => {
  const { caller, machines, other, otherMachine, owner, server, sessions } = await bothWork()
  const trees = sessions.map((id) => treeOf(id === sessions[0] ? owner.dataDir : otherMachine.dataDir, id))
  const ofOperator = backUp(machines, "operator.tar")
  const ofNode = backUp(machines, "node.tar", owner)
  for (const [made, fromSnapshots] of [[ofOperator, 2] as const, [ofNode, 1] as const]) {
    assert.strictEqual(made.status, 0, made.stderr)
    assert.deepInclude(answerOf(made), { sessions: 2, from_snapshots: fromSnapshots, missing: [], lacks: [] })
  }

  const restore = (file: string, into: string) => reins(join(place.directory, into), ["restore", file], machines.env)
  const refused = restore(ofOperator.file, "living")
  assert.match(refused.stderr, /The database has nodes that are up \(a, b\)/)
  for (const process of [server, other]) process.kill("SIGTERM")
  await Promise.all([server.ended, other.ended])
  // Both machines are gone, and the database stands for its dump.
  for (const { dataDir } of [owner, otherMachine]) rmSync(dataDir, { recursive: true })

  for (const [file, into] of [[ofNode.file, "node"] as const, [ofOperator.file, "one"] as const]) {
    const restored = restore(file, into)
    assert.strictEqual(restored.status, 0, restored.stderr)
    for (const [index, id] of sessions.entries())
      assert.deepStrictEqual(treeOf(join(place.directory, into), id), trees[index])
  }
  const dataDir = join(place.directory, "one")
  const single = await startServer({ dataDir, env: machines.env })
  for (const id of sessions) {
    assert.include(await diffOf(caller, single, id), "+kept")
    await works(caller, single, id, "What was the word?", "cat kept.txt .env > seen.txt")
    assert.include(JSON.stringify(place.gateway.requests.at(-1)?.messages), "heliotrope")
  }
  single.kill("SIGTERM")
  await single.ended

  // The machine becomes the first of several: what is on its disk is its own, is sealed, and moves.
  const c = await machines.machine("c", {}, "one")
  const first = await c.start()
  await allSealed(first)
  assert.deepInclude(
    machines.list().find(({ name }) => name === "c"),
    { state: "active", sessions: 2 }
  )
  const d = await (await machines.machine("d")).start()
  assert.match(machines.command("node", "drain", "c", "--wait").stderr, /has no session any more/)
  for (const id of sessions) {
    await works(caller, d, id, "What was the word?", "true")
    assert.include((await read(caller, d, id, "seen.txt")).text, "kept\\nsecret")
  }
  assert.include(JSON.stringify(place.gateway.requests.at(-1)?.messages), "heliotrope")
})

it("a backup and the doctor say what is lacking of each session: a turn that runs, a store that is away, a node, a blob", async () => {
  const blobs = join(place.directory, "blobs")
  const { caller, machines, other, otherMachine, owner, server, session_id } = await twoMachines(
    place,
    (caller, server, id) => works(caller, server, id, "Go.", write),
    { REINS_BLOBS: `directory:${blobs}` }
  )
  const operator = join(place.directory, "elsewhere")
  mkdirSync(operator)
  const run = (...args: ReadonlyArray<string>) =>
    reins(operator, args, { ...machines.env, REINS_BLOBS: `directory:${blobs}` })
  const backUpTo = (name: string) => run("backup", "--files-only", join(place.directory, name))
  const doctor = (check: string, ...args: ReadonlyArray<string>): ReadonlyArray<{ state: string; detail: string }> =>
    answerOf(run("doctor", "--json", ...args)).checks.filter((each: { readonly check: string }) => each.check === check)
  await allSealed(other)
  const told = doctor("nodes")
  assert.deepStrictEqual(
    told.map(({ detail, state }) => [state, / has (.*), and its lease for \d+ s more$/.exec(detail)?.[1]]),
    [owner, otherMachine]
      .map((machine) => ["ok", machine === owner ? "1 session" : "0 sessions"])
      .sort()
      .reverse()
  )

  const begun = await beginTurn(caller.at(other), session_id, endlessTool(), "tool.started")
  const running = backUpTo("running.tar")
  assert.strictEqual(running.status, 1)
  const [lack, ...more] = answerOf(running).lacks
  assert.deepInclude(lack, { session_id, node: owner.name, missing: false, running: true, unsealed_since: null })
  assert.isEmpty(more)
  assert.include(running.stderr, `${session_id} on ${owner.name}: the files of the turn that runs`)
  assert.match(running.stderr, /The backup is NOT whole: it does not have all of 1 session/)

  // The store goes away, so the end of the turn is in no snapshot.
  renameSync(blobs, `${blobs}.away`)
  writeFileSync(blobs, "in the way")
  await caller.at(other).turns.cancel({ turn_id: begun.turn_id })
  await caller.at(other).turns.wait({ turn_id: begun.turn_id })
  assert.strictEqual(doctor("blobs")[0]?.state, "fail")
  const away = backUpTo("away.tar")
  assert.strictEqual(away.status, 1)
  assert.deepInclude(answerOf(away), { missing: [session_id] })
  assert.match(answerOf(away).lacks[0].why, /blobs cannot be used/)
  assert.match(answerOf(away).lacks[0].unsealed_since, /^\d{4}-.*Z$/)

  // The node ends first, so that it stores nothing more of the turn.
  server.kill("SIGKILL")
  await server.ended
  rmSync(blobs)
  renameSync(`${blobs}.away`, blobs)
  await eventually("the doctor knows that the node is lost", () =>
    doctor("nodes").some(
      ({ detail, state }) =>
        state === "warn" && new RegExp(`^${owner.name} .* has 1 session and is lost: `).test(detail)
    )
  )
  const unsealed = backUpTo("unsealed.tar")
  assert.strictEqual(unsealed.status, 1)
  assert.deepInclude(answerOf(unsealed).lacks[0], { session_id, node: owner.name, missing: false, running: false })
  assert.match(answerOf(unsealed).lacks[0].unsealed_since, /^\d{4}-.*Z$/)

  assert.deepStrictEqual(
    doctor("blobs", "--read-blobs").map(({ state }) => state),
    ["ok", "ok"]
  )
  /** True when the doctor misses the content of a blob. A snapshot that was never finished leaves blobs that nothing needs. */
  const isNeeded = (blob: string) => {
    const content = readFileSync(blob)
    writeFileSync(blob, "damaged")
    if (doctor("blobs", "--read-blobs").at(-1)?.detail.includes(` of ${session_id} is damaged`) === true) return true
    writeFileSync(blob, content)
    return false
  }
  const needed = readdirSync(blobs, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .find(isNeeded)
  rmSync(needed ?? assert.fail("the doctor found no damage"))
  const lost = doctor("blobs").at(-1)
  assert.strictEqual(lost?.state, "fail")
  assert.match(
    lost?.detail ?? "",
    new RegExp(`^1 of \\d+ that snapshots need cannot be used: sha256:\\w+ of ${session_id} is missing`)
  )
})
