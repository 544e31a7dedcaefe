import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { newName, newSession, say, script } from "../Scenes.js"
import type { Row } from "./Row.js"

/** The turn that tries another one again, at its end. */
const retried = async (installation: Installation, turn_id: string) => {
  const turn = await installation.api.turns.retry({ turn_id })
  await installation.settled()
  return await installation.api.turns.get({ turn_id: turn.id })
}

/** The agent of a turn delegates while the server is killed, and again in the retry of the turn. */
export const childIsMadeOnce = (made: "before the kill" | "after the kill"): Row => ({
  rule: `an agent that delegates anew in a retry has one child, which was made ${made}`,
  play: async (installation, crash) => {
    const session = await newSession(installation)
    const name = newName("writer")
    const work = script([
      { tool: "delegate", args: { name, instructions: say("I am the child.") } },
      { tool: "wait", args: { delegation_ids: [name] } },
      { say: "Done." }
    ])
    const sent = await crash(() =>
      installation.api.messages.send({ session_id: session.id, content: `Split this up. ${work}` })
    )
    const turn = await installation.api.turns.get({ turn_id: sent.turn_id ?? "" })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
    const before = await installation.api.sessions.listDelegations({ session_id: session.id })
    assert.lengthOf(before.items, made === "before the kill" ? 1 : 0)
    const again = await retried(installation, turn.id)
    assert.strictEqual(again.state, "succeeded", JSON.stringify(again))
    const after = await installation.api.sessions.listDelegations({ session_id: session.id })
    assert.deepStrictEqual(
      after.items.map(({ role, state }) => [role, state]),
      [[name, "succeeded"]]
    )
    const calls = await installation.api.toolCalls.list({ turn_id: turn.id })
    assert.deepStrictEqual(
      calls.items.map(({ state, tool }) => [tool, state]),
      [["delegate", "outcome_unknown"]]
    )
  }
})

/** The result of a turn is accepted right before the kill. */
export const resultIsGivenOnce: Row = {
  rule: "a turn whose result was accepted before the kill is interrupted, and its retry gives one result",
  play: async (installation, crash) => {
    const session = await newSession(installation)
    const work = script([
      { tool: "submit_result", args: { value: { ok: true }, summary: "Looked." } },
      { say: "Done." }
    ])
    const sent = await crash(() =>
      installation.api.messages.send({
        session_id: session.id,
        content: `Look. ${work}`,
        result_schema: { type: "object", required: ["ok"] }
      })
    )
    const turn = await installation.api.turns.get({ turn_id: sent.turn_id ?? "" })
    assert.deepStrictEqual([turn.state, turn.result?.value], ["interrupted", { ok: true }], JSON.stringify(turn))
    const again = await retried(installation, turn.id)
    assert.deepStrictEqual(
      [again.state, again.result],
      ["succeeded", { value: { ok: true }, summary: "Looked.", tries: 1 }],
      JSON.stringify(again)
    )
  }
}
