import { mkdtempSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { type Gateway, startGateway } from "../../../examples/scripted-gateway/gateway.mjs"
import { killServers, startServer } from "./ServerProcess.js"
import {
  agents,
  agentsIn,
  endless,
  eventually,
  historyOf,
  nativeSession,
  newCaller,
  script,
  untilEvent
} from "./Sessions.js"

let dataDir: string
let gateway: Gateway

beforeEach(async () => {
  // Not in the temporary directory: codex refuses a home there.
  dataDir = mkdtempSync(join(homedir(), ".reins-chaos-"))
  gateway = await startGateway()
})
afterEach(async () => {
  killServers()
  await gateway.close()
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

/** What the model of an agent was last told, as one text. */
const lastHeard = () => JSON.stringify(gateway.requests.filter(({ tools }) => tools.length > 0).at(-1)?.messages)

for (const { provider_id } of agents) {
  it(`a turn of ${provider_id} that was running holds the queue after the restart, and the next goes on in the same native session`, async () => {
    const first = await startServer({ dataDir })
    const caller = await newCaller(first, dataDir, gateway)
    const before = caller.at(first)
    const { id: session_id } = await before.sessions.create({
      workspace_id: caller.workspaceId,
      harness: { provider_id, model: "scripted-1" }
    })
    const told = await before.run({ session_id, content: script("The password is tangerine.", { say: "I keep it." }) })
    assert.strictEqual(told.turn.state, "succeeded", JSON.stringify(told.turn))
    const native = nativeSession(dataDir, session_id)
    assert.notInclude(native, "null")
    const running = await before.messages.send({ session_id, content: endless() })
    const waiting = await before.messages.send({ session_id, content: script("Go on.", { say: "Here I am." }) })
    await untilEvent(before, session_id, running.turn_id ?? "", "tool.completed")
    first.kill("SIGKILL")
    await first.ended

    const second = await startServer({ dataDir })
    const after = caller.at(second)
    const interrupted = await after.turns.wait({ turn_id: running.turn_id ?? "" })
    assert.deepStrictEqual([interrupted.state, interrupted.reason], ["interrupted", "service_restart"])
    assert.deepStrictEqual(agentsIn(dataDir), [])
    const job = await after.jobs.get({ job_id: running.operation?.job_id ?? "" })
    assert.deepStrictEqual(
      job.attempts.map(({ error, state }) => [state, error?.code]),
      [["abandoned", "worker_lost"]]
    )
    assert.match(job.attempts[0]?.error?.message ?? "", /^Its worker .* ended before it was done; .* took over\.$/)
    assert.strictEqual((await after.turns.get({ turn_id: waiting.turn_id ?? "" })).state, "queued")
    assert.strictEqual((await after.sessions.get({ session_id })).activity, "attention")
    await after.turns.acknowledge({ turn_id: interrupted.id })
    const next = await after.turns.wait({ turn_id: waiting.turn_id ?? "" })
    assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
    assert.strictEqual(nativeSession(dataDir, session_id), native)
    for (const earlier of ["The password is tangerine.", "I keep it.", "Wait."]) assert.include(lastHeard(), earlier)
  })
}

describe("where the project version acknowledges by itself", () => {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    it(`the turns behind one that ${signal} has interrupted go on in the same native session without anybody`, async () => {
      const first = await startServer({ dataDir })
      const caller = await newCaller(first, dataDir, gateway)
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
      const running = await before.messages.send({ session_id, content: endless() })
      const waiting = await before.messages.send({ session_id, content: script("Go on.", { say: "Here I am." }) })
      await untilEvent(before, session_id, running.turn_id ?? "", "tool.completed")
      const native = nativeSession(dataDir, session_id)
      first.kill(signal)
      assert.deepStrictEqual(
        await first.ended,
        signal === "SIGTERM" ? { code: 0, signal: null } : { code: null, signal: "SIGKILL" }
      )
      if (signal === "SIGTERM") assert.deepStrictEqual(agentsIn(dataDir), [])

      const second = await startServer({ dataDir })
      const after = caller.at(second)
      const next = await after.turns.wait({ turn_id: waiting.turn_id ?? "" })
      assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
      assert.deepStrictEqual(await historyOf(after, session_id, running.turn_id ?? ""), [
        "turn.queued",
        "turn.preparing",
        "turn.started",
        "turn.interrupted service_restart",
        "turn.acknowledged service_restart"
      ])
      const { items } = await after.sessions.events({ session_id, limit: 1000 })
      const [acknowledged] = items.filter(({ type }) => type === "turn.acknowledged")
      assert.strictEqual(acknowledged?.actor.kind, "system")
      assert.strictEqual(nativeSession(dataDir, session_id), native)
      assert.include(lastHeard(), "Wait.")
    })
  }
})

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  it(`a turn whose agent was started but never asked when ${signal} came goes back to the queue and is worked at once`, async () => {
    const first = await startServer({ dataDir })
    const caller = await newCaller(first, dataDir, gateway)
    const before = caller.at(first)
    const { id: session_id } = await before.sessions.create({
      workspace_id: caller.workspaceId,
      harness: { provider_id: "alpha", model: "scripted-1" }
    })
    const sent = await before.messages.send({ session_id, content: script("Hello.", { say: "Here I am." }) })
    const turn_id = sent.turn_id ?? ""
    // An agent that stands still as soon as it is there never becomes ready.
    const [agent = 0] = await eventually(() => {
      const found = agentsIn(dataDir)
      return found.length > 0 ? found : undefined
    })
    process.kill(agent, "SIGSTOP")
    assert.strictEqual((await before.turns.get({ turn_id })).state, "preparing")
    first.kill(signal)
    await first.ended

    const second = await startServer({ dataDir })
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
    const asked = gateway.requests.filter(({ tools }) => tools.length > 0)
    assert.strictEqual(asked.length, 1)
    assert.deepStrictEqual(agentsIn(dataDir), [])
  })
}
