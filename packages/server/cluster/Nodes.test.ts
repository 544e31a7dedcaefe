import { existsSync } from "node:fs"
import { join } from "node:path"
import { placeForEachTest } from "@reins/testing/process/Place"
import { spawnServer } from "@reins/testing/process/ServerProcess"
import { assertAnswers } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { newMachines } from "./Machines.js"

const place = placeForEachTest()

/** Two runners and a node without sessions. */
const threeNodes = async () => {
  const machines = await newMachines(place)
  const [a, b, api] = [
    await machines.machine("a"),
    await machines.machine("b", { REINS_ROLE: "runner" }),
    await machines.machine("api", { REINS_ROLE: "api" })
  ]
  // Their first start migrates the database, which one does at a time.
  const first = await a.start()
  const servers = { a: first, b: await b.start(), api: await api.start() }
  return { machines, nodes: { a, b, api }, servers, caller: await machines.caller(first) }
}

it("each session runs where its files are, and every node answers for all of them", async () => {
  const { caller, machines, nodes, servers } = await threeNodes()
  const clients = [servers.a, servers.b, servers.api].map((server) => caller.at(server))
  const [viaA = caller.at(servers.a), viaB = viaA, viaApi = viaA] = clients
  const sessions = await Promise.all(
    clients.flatMap((client) => [caller.newSession(client), caller.newSession(client)])
  )

  // Two turns each, asked for at different nodes: the second one needs what the first has left.
  for (const [index, session_id] of sessions.entries()) {
    const [one = viaA, two = viaA] = [clients[index % 3], clients[(index + 1) % 3]]
    await assertAnswers(one, session_id)
    await assertAnswers(two, session_id)
  }
  const held = new Map(machines.list().map(({ name, sessions: count }) => [name, count]))
  assert.deepStrictEqual([held.get("api"), (held.get("a") ?? 0) + (held.get("b") ?? 0)], [0, sessions.length])
  assert.isAbove(held.get("a") ?? 0, 0)
  assert.isAbove(held.get("b") ?? 0, 0)

  const [session_id = ""] = sessions
  const [owner, other] = existsSync(join(nodes.a.dataDir, "sessions", session_id, "workspace"))
    ? [nodes.a, nodes.b]
    : [nodes.b, nodes.a]
  assert.isTrue(existsSync(join(owner.dataDir, "sessions", session_id, "workspace")))
  assert.isFalse(existsSync(join(other.dataDir, "sessions", session_id)))

  for (const client of clients) {
    const content = `from ${clients.indexOf(client)}\n`
    const { file } = await client.sessions.uploadFile({
      session_id,
      path: "note.txt",
      content: Buffer.from(content).toString("base64"),
      encoding: "base64"
    })
    assert.strictEqual(file.size, content.length)
    for (const reader of clients) {
      const read = await reader.sessions.getFile({ session_id, path: "note.txt" })
      assert.strictEqual(Buffer.from(read.content, read.encoding === "base64" ? "base64" : "utf8").toString(), content)
      const { items } = await reader.sessions.listFiles({ session_id })
      assert.include(
        items.map(({ path }) => path),
        "note.txt"
      )
    }
  }
  const changes = await Promise.all(clients.map((client) => client.sessions.getChanges({ session_id })))
  assert.deepStrictEqual(new Set(changes.map(({ generation }) => generation)).size, 1)
  assert.isTrue(changes.every(({ live }) => live))

  const { changeset } = await viaApi.sessions.capture({ session_id, expected_generation: changes[0]?.generation ?? "" })
  await eventually("the changeset is sealed", async () => {
    const { state } = await viaB.changesets.get({ changeset_id: changeset.id })
    return state === "ready"
  })
  for (const client of clients) {
    const { diff } = await client.changesets.getDiff({ changeset_id: changeset.id })
    assert.include(diff, "+from 2")
  }
  // The caller is checked at the owner, which answers in its own words.
  const refused = await fetch(`${servers.api.url}/api/sessions/${session_id}/files`, {
    headers: { authorization: "Bearer rk_nobody", "x-request-id": "request-of-nobody" }
  })
  assert.deepStrictEqual([refused.status, refused.headers.get("x-request-id")], [401, "request-of-nobody"])
  const missing = await viaApi.sessions.getFile({ session_id, path: "nothing.txt" }).catch((error: unknown) => error)
  assert.deepInclude(missing, { status: 404, code: "not_found" })
  // Nobody but a node of the installation says that a request was sent on.
  const forged = await fetch(`${servers.api.url}/api/sessions/${session_id}/files`, {
    headers: { authorization: `Bearer ${caller.apiKey}`, "x-reins-from": "YQ.YQ" }
  })
  assert.strictEqual(forged.status, 200)
})

it("an upload through any node gives a new session its node, and its turn finds the file", async () => {
  const { caller, servers } = await threeNodes()
  const viaApi = caller.at(servers.api)
  const session_id = await caller.newSession(viaApi)
  const before = await viaApi.sessions.listFiles({ session_id }).catch((error: unknown) => error)
  assert.deepInclude(before, { status: 409, code: "executor_unavailable" })
  const upload = { session_id, path: "given.txt", content: "given", encoding: "utf-8" as const }
  await viaApi.sessions.uploadFile(upload)
  const { turn } = await viaApi
    .run({ session_id, content: script("Copy it.", { tool: "bash", cmd: "cp given.txt copy.txt" }, { say: "Done." }) })
    .final()
  assert.strictEqual(turn.state, "succeeded")
  assert.strictEqual((await viaApi.sessions.getFile({ session_id, path: "copy.txt" })).content, "given")
})

it("a node that is drained gives away what rests and gets nothing new", async () => {
  const { caller, machines, servers } = await threeNodes()
  const viaB = caller.at(servers.b)
  const kept = await caller.newSession(viaB)
  await assertAnswers(viaB, kept)
  const owner = machines.list().find(({ sessions }) => sessions === 1)?.name ?? ""
  const drained = machines.command("node", "drain", owner)
  assert.strictEqual(drained.status, 0, drained.stderr)
  for (let count = 0; count < 3; count++) await assertAnswers(viaB, await caller.newSession(viaB))
  assert.deepInclude(
    machines.list().find(({ name }) => name === owner),
    { state: "draining" }
  )
  await eventually("the session has left", () => machines.list().find(({ name }) => name === owner)?.sessions === 0)
  // It answers for what it had, and its sessions go on.
  await assertAnswers(viaB, kept)
  assert.isAbove((await viaB.sessions.listFiles({ session_id: kept })).items.length, -1)
  assert.strictEqual((await fetch(`${owner === "a" ? servers.a.url : servers.b.url}/readyz`)).status, 200)
})

it("servers that do not fit together refuse to start, in one sentence", async () => {
  const machines = await newMachines(place)
  const a = await machines.machine("a")
  const first = await a.start()
  const again = await machines
    .machine("a")
    .then(({ start }) => start())
    .catch(String)
  assert.match(String(again), /The node a is held by a process that lives at http:\/\/127\.0\.0\.1:\d+/)
  const elsewhere = await machines.machine("b", { REINS_EXECUTOR: "local" })
  const there = await machines.machine("c", { REINS_EXECUTOR: "local" })
  first.kill("SIGTERM")
  await first.ended
  const second = await elsewhere.start()
  assert.match(
    String(await there.start().catch(String)),
    /The executor "local" needs the same data directory on every node/
  )
  second.kill("SIGTERM")
  await second.ended
  const third = await a.start()
  const alone = machines.command("serve", "--port", "0")
  assert.match(alone.stderr, /belongs to several machines, of which a are up/)
  assert.match(machines.command("node", "forget", "a").stderr, /it is up, or there is none/)
  third.kill("SIGTERM")
  await third.ended
  assert.deepInclude(machines.list()[0], { name: "a", state: "gone" })

  // One without a name may have the database to itself, and no node comes beside it.
  const plain = spawnServer({ dataDir: join(place.directory, "plain"), env: machines.env })
  await plain.ready
  assert.match(String(await a.start().catch(String)), /A server without --node works on the database: stop it/)
  plain.kill("SIGTERM")
  await plain.ended
})
