import { join } from "node:path"
import type { Reins } from "@reins/client"
import { openSqlite } from "@reins/core/store/SqliteDriver"
import { agentsIn } from "@reins/testing/executor/Processes"
import { agents, newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { assertWorkerLost, beginTurn, wholeLog } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"

const place = placeForEachTest(inHome)

/** The events of a turn, each with its reason if it has one. */
const historyOf = async (client: Reins, session_id: string, turn_id: string): Promise<ReadonlyArray<string>> =>
  (await wholeLog(client, session_id)).flatMap((event) => {
    if (event.turn_id !== turn_id || !("turn" in event.payload)) return []
    const { turn } = event.payload
    const reason = typeof turn === "object" && turn !== null && "reason" in turn ? turn.reason : null
    return [reason === null ? event.type : `${event.type} ${reason}`]
  })

/** The agent's own session that a session goes on with, as JSON. */
const nativeSession = (sessionId: string): string => {
  const db = openSqlite(join(place.dataDir, "reins.db"), { readonly: true })
  try {
    return JSON.stringify(
      db
        .prepare(
          "select coalesce(native_session_id, native_candidate) as native from agent_states where session_id = ?"
        )
        .get(sessionId)
    )
  } finally {
    db.close()
  }
}

/** The last request to the model of an agent, as one text. */
const lastHeard = () => JSON.stringify(place.gateway.requests.filter(({ tools }) => tools.length > 0).at(-1)?.messages)

for (const { provider_id } of agents) {
  it(`a turn of ${provider_id} that was running holds the queue after the restart, and the next goes on in the same native session`, async () => {
    const first = await startServer({ dataDir: place.dataDir })
    const caller = await newCaller(first, place.dataDir, place.gateway)
    const before = caller.at(first)
    const session_id = await caller.newSession(before, provider_id)
    const told = await before
      .run({ session_id, content: script("The password is tangerine.", { say: "I keep it." }) })
      .final()
    assert.strictEqual(told.turn.state, "succeeded", JSON.stringify(told.turn))
    const native = nativeSession(session_id)
    assert.notInclude(native, "null")
    const running = await beginTurn(before, session_id)
    const waiting = await before.messages.send({ session_id, content: script("Go on.", { say: "Here I am." }) })
    first.kill("SIGKILL")
    await first.ended

    const second = await startServer({ dataDir: place.dataDir })
    const after = caller.at(second)
    const interrupted = await after.turns.wait({ turn_id: running.turn_id })
    assert.deepStrictEqual([interrupted.state, interrupted.reason], ["interrupted", "service_restart"])
    assert.deepStrictEqual(agentsIn(place.dataDir), [])
    await assertWorkerLost(after, running.job_id)
    assert.strictEqual((await after.turns.get({ turn_id: waiting.turn_id ?? "" })).state, "queued")
    assert.strictEqual((await after.sessions.get({ session_id })).activity, "attention")
    await after.turns.acknowledge({ turn_id: interrupted.id })
    const next = await after.turns.wait({ turn_id: waiting.turn_id ?? "" })
    assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
    assert.strictEqual(nativeSession(session_id), native)
    for (const earlier of ["The password is tangerine.", "I keep it.", "Wait."]) assert.include(lastHeard(), earlier)
  })
}

describe("where the project version acknowledges by itself", () => {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    it(`the turns behind one that ${signal} has interrupted go on in the same native session without anybody`, async () => {
      const first = await startServer({ dataDir: place.dataDir })
      const caller = await newCaller(first, place.dataDir, place.gateway)
      const before = caller.at(first)
      const project = await before.projects.create({
        workspace_id: caller.workspaceId,
        slug: "unattended",
        name: "Unattended",
        spec: { harness: { provider_id: "alpha", model: "scripted-1" }, auto_acknowledge: true }
      })
      const { id: session_id } = await before.sessions.create({
        workspace_id: caller.workspaceId,
        project_id: project.id
      })
      const running = await beginTurn(before, session_id)
      const waiting = await before.messages.send({ session_id, content: script("Go on.", { say: "Here I am." }) })
      const native = nativeSession(session_id)
      first.kill(signal)
      assert.deepStrictEqual(
        await first.ended,
        signal === "SIGTERM" ? { code: 0, signal: null } : { code: null, signal: "SIGKILL" }
      )
      if (signal === "SIGTERM") assert.deepStrictEqual(agentsIn(place.dataDir), [])

      const second = await startServer({ dataDir: place.dataDir })
      const after = caller.at(second)
      const next = await after.turns.wait({ turn_id: waiting.turn_id ?? "" })
      assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
      assert.deepStrictEqual(await historyOf(after, session_id, running.turn_id), [
        "turn.queued",
        "turn.preparing",
        "turn.started",
        "turn.interrupted service_restart",
        "turn.acknowledged service_restart"
      ])
      const acknowledged = (await wholeLog(after, session_id)).find(({ type }) => type === "turn.acknowledged")
      assert.strictEqual(acknowledged?.actor.kind, "system")
      assert.strictEqual(nativeSession(session_id), native)
      assert.include(lastHeard(), "Wait.")
    })
  }
})

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  it(`an agent that is kept between turns goes with a server that ${signal} ends, and its session goes on`, async () => {
    const first = await startServer({ dataDir: place.dataDir })
    const caller = await newCaller(first, place.dataDir, place.gateway)
    const session_id = await caller.newSession(caller.at(first))
    const content = script("The password is tangerine.", { say: "I keep it." })
    const told = await caller.at(first).run({ session_id, content }).final()
    assert.strictEqual(told.turn.state, "succeeded", JSON.stringify(told.turn))
    const kept = agentsIn(place.dataDir)
    assert.isNotEmpty(kept)
    const native = nativeSession(session_id)
    first.kill(signal)
    await first.ended

    const second = await startServer({ dataDir: place.dataDir })
    const next = await caller
      .at(second)
      .run({ session_id, content: script("Go on.", { say: "Here I am." }) })
      .final()
    assert.strictEqual(next.turn.state, "succeeded", JSON.stringify(next.turn))
    assert.strictEqual(nativeSession(session_id), native)
    assert.include(lastHeard(), "I keep it.")
    const there = agentsIn(place.dataDir)
    assert.isEmpty(kept.filter((pid) => there.includes(pid)))
  })

  it(`a turn whose agent was started but never asked when ${signal} came goes back to the queue and is worked at once`, async () => {
    const first = await startServer({ dataDir: place.dataDir })
    const caller = await newCaller(first, place.dataDir, place.gateway)
    const before = caller.at(first)
    const session_id = await caller.newSession(before)
    const sent = await before.messages.send({ session_id, content: script("Hello.", { say: "Here I am." }) })
    const turn_id = sent.turn_id ?? ""
    // An agent that stands still as soon as it is there never becomes ready.
    const [agent = 0] = await eventually("an agent is there", () => {
      const found = agentsIn(place.dataDir)
      return found.length > 0 && found
    })
    process.kill(agent, "SIGSTOP")
    assert.strictEqual((await before.turns.get({ turn_id })).state, "preparing")
    first.kill(signal)
    await first.ended

    const second = await startServer({ dataDir: place.dataDir })
    const after = caller.at(second)
    const turn = await after.turns.wait({ turn_id })
    assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
    assert.deepStrictEqual(await historyOf(after, session_id, turn_id), [
      "turn.queued",
      "turn.preparing",
      "turn.queued service_restart",
      "turn.preparing",
      "turn.started",
      "turn.succeeded"
    ])
    const job = await after.jobs.get({ job_id: sent.operation?.job_id ?? "" })
    const [abandoned, worked] = job.attempts
    assert.deepStrictEqual([abandoned?.state, worked?.state, job.attempts.length], ["abandoned", "succeeded", 2])
    assert.match(abandoned?.error?.message ?? "", /Attempt 2 of 6 is due at once\.$/)
    const asked = place.gateway.requests.filter(({ tools }) => tools.length > 0)
    assert.strictEqual(asked.length, 1)
    assert.notInclude(agentsIn(place.dataDir), agent)
  })
}
