import { processesOf } from "@reins/testing/executor/Processes"
import type { Caller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import type { ServerProcess } from "@reins/testing/process/ServerProcess"
import { assertAnswers, beginTurn, endlessTool, wholeLog } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { allSealed, type Machine, type Machines, twoMachines } from "./Machines.js"

const place = placeForEachTest()

/** Two nodes, and a session with a turn that runs on one of them until it is ended. */
const running = async () => {
  const two = await twoMachines(place, (caller, server, id) => assertAnswers(caller.at(server), id))
  await allSealed(two.other)
  const begun = await beginTurn(two.caller.at(two.other), two.session_id, endlessTool(), "tool.started")
  return { ...two, begun }
}

const filesAt = (server: ServerProcess, caller: Caller, session_id: string) =>
  fetch(`${server.url}/api/sessions/${session_id}/files`, { headers: { authorization: `Bearer ${caller.apiKey}` } })

const stateOf = (machines: Machines, { name }: Machine) => machines.list().find((node) => node.name === name)?.state

/** The turn is over, and its end was told once. */
const assertInterrupted = async (caller: Caller, server: ServerProcess, session_id: string, turn_id: string) => {
  const { state } = await eventually("the turn of the lost node has ended", async () => {
    const turn = await caller.at(server).turns.get({ turn_id })
    return turn.state === "interrupted" && turn
  })
  assert.strictEqual(state, "interrupted")
  const ends = (await wholeLog(caller.at(server), session_id)).filter(
    ({ turn_id: id, type }) => id === turn_id && /^turn\.(?:succeeded|failed|cancelled|interrupted)$/.test(type)
  )
  assert.deepStrictEqual(
    ends.map(({ type }) => type),
    ["turn.interrupted"]
  )
}

it("a node that was killed: its turn is interrupted, its files are refused with 503, and all is there when it is back", async () => {
  const { begun, caller, machines, other, owner, server, session_id } = await running()
  server.kill("SIGKILL")
  await server.ended
  await assertInterrupted(caller, other, session_id, begun.turn_id)
  const refused = await filesAt(other, caller, session_id)
  assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [503, "2"])
  assert.include(await refused.text(), '"reason":"node_lost"')
  assert.strictEqual(stateOf(machines, owner), "lost")

  // Work that needs the files waits for them; nothing fails, and no other node takes it.
  await caller.at(other).turns.acknowledge({ turn_id: begun.turn_id })
  const { turn_id = "" } = await caller
    .at(other)
    .messages.send({ session_id, content: script("Say it.", { say: "Later." }) })
  const elsewhere = await caller.newSession(caller.at(other))
  await assertAnswers(caller.at(other), elsewhere)
  assert.strictEqual((await caller.at(other).turns.get({ turn_id })).state, "queued")

  await owner.start()
  await eventually("the turn that has waited has run", async () => {
    const turn = await caller.at(other).turns.get({ turn_id })
    return turn.state === "succeeded"
  })
  assert.strictEqual((await filesAt(other, caller, session_id)).status, 200)
  assert.deepStrictEqual(processesOf(begun.lease_id), [])
})

it("a node that stood still ends its agents before it goes on, and has its sessions again", async () => {
  const { begun, caller, machines, other, owner, server, session_id } = await running()
  assert.isNotEmpty(processesOf(begun.lease_id))
  server.kill("SIGSTOP")
  try {
    await assertInterrupted(caller, other, session_id, begun.turn_id)
    assert.strictEqual((await filesAt(other, caller, session_id)).status, 503)
  } finally {
    server.kill("SIGCONT")
  }
  await eventually("its agent is ended", () => processesOf(begun.lease_id).length === 0)
  await eventually("it has its lease again", () => stateOf(machines, owner) === "active")
  assert.strictEqual((await filesAt(other, caller, session_id)).status, 200)
  await caller.at(other).turns.acknowledge({ turn_id: begun.turn_id })
  await assertAnswers(caller.at(other), session_id)
  assert.include(server.log(), "cannot keep its lease, and ends what it runs")
})

it("a node that comes back with another disk is refused until its files are given up", async () => {
  const { caller, machines, owner, server, session_id } = await running()
  server.kill("SIGKILL")
  await server.ended
  const burnt = await machines.machine(owner.name, {}, "new-disk")
  const refused = await burnt.start().catch(String)
  assert.match(
    String(refused),
    /has the files of 1 sessions in another data directory: start it there, or give those files up/
  )
  await eventually("its lease has run out", () => stateOf(machines, owner) === "lost")
  const forgotten = machines.command("node", "forget", owner.name)
  assert.match(forgotten.stderr, /is forgotten, and the files of 1 sessions count as lost/)
  const back = await burnt.start()
  assert.strictEqual(stateOf(machines, owner), "active")
  assert.strictEqual((await filesAt(back, caller, session_id)).status, 200)
})
