import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { type MessageDelta, Reins, webhooks } from "@reins/client"
import { processesOf } from "@reins/testing/executor/Processes"
import { placeForEachTest } from "@reins/testing/process/Place"
import type { ServerProcess } from "@reins/testing/process/ServerProcess"
import { assertAnswers, beginTurn, endlessTool, upTo, wholeLog } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { newMachines, twoMachines } from "./Machines.js"

const place = placeForEachTest()

const said = "One word after the other, as slowly as a thoughtful agent would say them."

/** A reader of a session with deltas, until its log has an event. */
const listening = (client: Reins, session_id: string, after: number) => {
  const deltas: Array<MessageDelta> = []
  const order: Array<string> = []
  const stream = client.sessions.stream({
    session_id,
    after,
    onDelta: (delta) => {
      deltas.push(delta)
      order.push("delta")
    }
  })
  const seqs: Array<number> = []
  const until = async (type: string) => {
    for await (const event of stream) {
      seqs.push(event.seq)
      order.push(event.type)
      if (event.type === type) return
    }
  }
  return { deltas, order, seqs, until }
}

/** The words of the deltas of a turn, which came in their order. */
const wordsOf = (deltas: ReadonlyArray<MessageDelta>) => {
  let text = ""
  for (const delta of deltas) {
    assert.strictEqual(delta.offset, text.length)
    text += delta.text
  }
  return text.trim()
}

it("a reader of any node hears what an agent says before the log has it, wherever the session goes", async () => {
  const { caller, machines, other, owner, server, session_id } = await twoMachines(place, (caller, at, id) =>
    assertAnswers(caller.at(at), id)
  )
  const hears = async (here: ServerProcess) => {
    const client = caller.at(here)
    const { event_watermark } = await client.sessions.get({ session_id })
    const reader = listening(client, session_id, event_watermark)
    const heard = reader.until("turn.succeeded")
    await client.messages.send({ session_id, content: script("Say it.", { say: said, slow_ms: 100 }) })
    await heard
    assert.strictEqual(wordsOf(reader.deltas), said)
    assert.isAbove(reader.deltas.length, 1)
    assert.isBelow(reader.order.indexOf("delta"), reader.order.indexOf("message.part_added"))
    assert.deepStrictEqual(
      reader.seqs,
      reader.seqs.map((_, index) => event_watermark + 1 + index)
    )
  }
  await hears(other)
  machines.command("node", "drain", owner.name, "--wait")
  // The session is on the other node with its next turn, and its readers are on this one.
  await hears(server)
})

it("a key that is revoked at one node ends its streams at every node at once, and its turn where that works", async () => {
  const { caller, other, server, session_id } = await twoMachines(place, (caller, at, id) =>
    assertAnswers(caller.at(at), id)
  )
  const { id, secret } = await caller.at(other).apiKeys.create({ name: "lost", scopes: ["read", "write"] })
  const { turn_id } = await beginTurn(
    new Reins({ baseUrl: server.url, apiKey: secret }),
    session_id,
    endlessTool(),
    "tool.started"
  )
  const streams = await Promise.all(
    [server, other].map(({ url }) =>
      fetch(`${url}/api/sessions/${session_id}/events?max_seconds=600`, {
        headers: { authorization: `Bearer ${secret}`, accept: "text/event-stream" }
      })
    )
  )
  await caller.at(other).apiKeys.revoke({ key_id: id })
  for (const stream of streams) assert.match(await stream.text(), /"reason":"refused"/)
  for await (const event of caller.at(other).sessions.stream({ session_id }))
    if (event.turn_id === turn_id && event.type === "turn.cancelled") break
  const turn = await caller.at(other).turns.get({ turn_id })
  assert.deepStrictEqual([turn.state, turn.reason], ["cancelled", "access_lost"], JSON.stringify(turn))
  await assertAnswers(caller.at(other), session_id)
})

/** Takes webhooks, and says what came in what order. */
const receiving = async () => {
  const taken: Array<{ readonly id: string; readonly event: string; readonly session: string; readonly seq: number }> =
    []
  const open = new Map<string, number>()
  const state = { secret: "", most: 0 }
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const message = await webhooks.verify(Buffer.concat(chunks), request.headers, state.secret)
    if (message.type === "webhook.test") return response.writeHead(204).end()
    const { id, seq, session_id } = message.data
    open.set(session_id, (open.get(session_id) ?? 0) + 1)
    response.once("close", () => open.set(session_id, (open.get(session_id) ?? 1) - 1))
    state.most = Math.max(state.most, open.get(session_id) ?? 0)
    taken.push({ id: String(request.headers["webhook-id"]), event: id, session: session_id, seq })
    // A courier is on its way for a while, so that a second one would meet it.
    setTimeout(() => response.writeHead(204).end(), 50)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { taken, state, url: `http://127.0.0.1:${port}/hook`, end: () => server.close() }
}

it("readers of a workspace and webhooks miss nothing of any node when one of them is killed", async () => {
  const { caller, other, server, session_id } = await twoMachines(place, (caller, at, id) =>
    assertAnswers(caller.at(at), id)
  )
  const receiver = await receiving()
  try {
    const client = caller.at(other)
    const workspace_id = caller.workspaceId
    const endpoint = await client.webhooks.createEndpoint({ workspace_id, url: receiver.url })
    receiver.state.secret = endpoint.secret
    const { event_watermark: after } = await client.workspaces.listEvents({ workspace_id })
    const positions: Array<number> = []
    const events: Array<string> = []
    const stop = new AbortController()
    const reading = (async () => {
      for await (const { event, position } of client.workspaces.stream(
        { workspace_id, after },
        { signal: stop.signal }
      )) {
        positions.push(position)
        events.push(event.id)
      }
    })().catch(() => undefined)
    const reader = listening(client, session_id, 0)
    const ended = reader.until("turn.interrupted")

    // Sessions of both nodes tell of themselves by turns, and one turn is killed with its node.
    const mine = await caller.newSession(client)
    await assertAnswers(client, mine)
    await assertAnswers(caller.at(server), session_id)
    await beginTurn(client, session_id, endlessTool(), "tool.started")
    for (const title of ["one", "two", "three"])
      for (const id of [mine, session_id]) await caller.at(server).sessions.update({ session_id: id, title })
    server.kill("SIGKILL")
    await server.ended
    await ended
    assert.deepStrictEqual(reader.seqs, upTo(reader.seqs.length))
    for (const id of [mine, session_id]) await client.sessions.update({ session_id: id, title: "last" })

    const all = []
    for (let from = after; ; ) {
      const page = await client.workspaces.listEvents({ workspace_id, after: from, limit: 1000 })
      all.push(...page.items)
      if (!page.has_more) break
      from = page.next_after
    }
    await eventually("the reader has all", () => events.length === all.length)
    assert.deepStrictEqual([positions, events], [all.map(({ position }) => position), all.map(({ event }) => event.id)])
    const logs = await Promise.all([mine, session_id].map((id) => wholeLog(client, id)))
    const listed = new Set(all.map(({ event }) => event.id))
    await eventually("all webhooks have come", () =>
      [...listed].every((id) => receiver.taken.some(({ event }) => event === id))
    )
    // An event may come again, with the same id, and its first coming is in the order of its session.
    const idOf = new Map(receiver.taken.map(({ event, id }) => [event, id]))
    for (const { event, id } of receiver.taken) assert.strictEqual(idOf.get(event), id)
    assert.strictEqual(new Set(idOf.values()).size, idOf.size)
    for (const log of logs) {
      const firsts = receiver.taken.filter(
        ({ event, session }, index) =>
          session === log[0]?.session_id && receiver.taken.findIndex((each) => each.event === event) === index
      )
      const expected = log.filter(({ id }) => listed.has(id)).map(({ seq }) => seq)
      assert.deepStrictEqual(
        firsts.map(({ seq }) => seq),
        expected
      )
    }
    assert.strictEqual(receiver.state.most, 1)
    stop.abort()
    await reading
  } finally {
    receiver.end()
  }
})

const metric = async (server: ServerProcess, pattern: RegExp) => {
  const page = await (await fetch(`${server.url}/metrics`)).text()
  return [...page.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0)
}

it("agents start ahead of first turns on the nodes of their sessions, and end when these move", async () => {
  const machines = await newMachines(place)
  const settings = { REINS_PREWARM: "on", REINS_AGENT_FREE_BYTES: "0", REINS_MAX_IDLE_AGENTS: "2" }
  const a = await machines.machine("a", settings)
  const b = await machines.machine("b", settings)
  const api = await machines.machine("api", { ...settings, REINS_ROLE: "api" })
  const servers = [await a.start(), await b.start(), await api.start()] as const
  const caller = await machines.caller(servers[0])
  const viaApi = caller.at(servers[2])
  await eventually("the nodes tell of their agents", () =>
    machines.list().every(({ name, providers }) => name === "api" || providers.includes("alpha"))
  )
  const sum = async (pattern: RegExp) => {
    const each = await Promise.all(servers.map((server) => metric(server, pattern)))
    return each.reduce((all, value) => all + value, 0)
  }
  const idle = /^reins_agents_idle (\d+)$/gm
  const sessions = await Promise.all(upTo(4).map(() => caller.newSession(viaApi)))
  await eventually("an agent is ready for each", async () => (await sum(idle)) === sessions.length)
  const held = new Map(machines.list().map(({ name, sessions: count }) => [name, count]))
  assert.strictEqual(held.get("api"), 0)
  for (const [index, name] of ["a", "b"].entries()) {
    assert.strictEqual(held.get(name), 2, "sessions that are made together are divided")
    assert.strictEqual(await metric(servers[index] ?? servers[0], idle), held.get(name))
  }

  // The first prompt of each goes to the process that was waiting for it.
  const leases = await Promise.all(
    sessions.map(async (session_id) => (await viaApi.sessions.get({ session_id })).executor.lease_id ?? "")
  )
  const processes = leases.map((lease) => processesOf(lease))
  for (const session_id of sessions) await assertAnswers(viaApi, session_id)
  assert.strictEqual(await sum(/^reins_agent_turns_total\{[^}]*start="warm"[^}]*\} (\d+)$/gm), sessions.length)
  assert.strictEqual(await sum(/^reins_agent_turns_total\{[^}]*start="cold"[^}]*\} (\d+)$/gm), 0)
  assert.deepStrictEqual(
    leases.map((lease) => processesOf(lease)),
    processes
  )

  // There is room for no more agents, so these sessions have a node and nothing on it.
  const more = await Promise.all(upTo(2).map(() => caller.newSession(viaApi)))
  await eventually("they have a node", () => machines.list().reduce((all, node) => all + node.sessions, 0) === 6)
  const drained = machines.command("node", "drain", "a", "--wait")
  assert.strictEqual(drained.status, 0, drained.stderr)
  assert.strictEqual(await metric(servers[0], idle), 0)
  const left = leases.filter((lease) => processesOf(lease).length > 0)
  assert.strictEqual(left.length, held.get("b"))
  for (const session_id of [...sessions, ...more]) await assertAnswers(viaApi, session_id)
})
