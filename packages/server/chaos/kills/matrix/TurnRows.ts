import { join } from "node:path"
import type { Turn } from "@reins/core/sessions/rows/Turn"
import { agentsIn } from "@reins/testing/executor/Processes"
import { Schema } from "effect"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { newName, newSession, say, script } from "../Scenes.js"
import { type Attempts, again, holdsAttempts, once, type Row } from "./Row.js"

interface End {
  readonly state: Turn["state"]
  readonly reason: Turn["reason"]
  readonly attempts: Attempts
}

const holdsEnd = async (
  installation: Installation,
  sent: { readonly turn_id?: string; readonly operation?: { readonly job_id: string } },
  { attempts, reason, state }: End
): Promise<void> => {
  const turn = await installation.api.turns.get({ turn_id: sent.turn_id ?? "" })
  assert.deepStrictEqual([turn.state, turn.reason], [state, reason], JSON.stringify(turn))
  await holdsAttempts(installation, sent.operation, attempts)
}

/** A turn whose agent was never asked anything is worked by the next server as if nothing had been. */
export const turnRunsOnce = (attempts: Attempts, leaves: "an agent" | "nothing" = "nothing"): Row => ({
  rule: attempts === again ? "a turn whose agent was never asked runs, once" : "a turn that has ended stays ended",
  play: async (installation, crash) => {
    const session = await newSession(installation)
    const sent = await crash(() =>
      installation.api.messages.send({ session_id: session.id, content: say("Here I am.") })
    )
    if (leaves === "an agent") assert.isNotEmpty(installation.orphans)
    await holdsEnd(installation, sent, { state: "succeeded", reason: null, attempts })
    const { items } = await installation.api.messages.list({ session_id: session.id })
    assert.deepStrictEqual(
      items.map((message) => message.role),
      ["user", "assistant"]
    )
  }
})

/** Leaves a process behind that has left the group of the agent, then works on for a while. */
const longWork = script([
  { tool: "bash", cmd: "setsid sleep 300 >/dev/null 2>&1 & sleep 0.3" },
  { tool: "bash", cmd: "echo half > half.txt; sleep 0.3" },
  { say: "Done." }
])

/** From the moment that the agent may have been asked, a turn is never run again by itself, and what it did is kept. */
export const turnIsInterrupted = (passage = 1, leaves: "an agent" | "nothing" = "nothing"): Row => ({
  rule: "a turn whose agent may have worked is interrupted, and the session goes on once a person has seen that",
  play: async (installation, crash) => {
    const session = await newSession(installation)
    const sent = await crash(
      () => installation.api.messages.send({ session_id: session.id, content: `${newName("Do.")} ${longWork}` }),
      passage
    )
    if (leaves === "an agent") assert.isNotEmpty(installation.orphans)
    await holdsEnd(installation, sent, { state: "interrupted", reason: "service_restart", attempts: ["abandoned"] })
    await installation.api.turns.acknowledge({ turn_id: sent.turn_id ?? "" })
    const next = await installation.api.run({ session_id: session.id, content: say("Here I am.") }).final()
    assert.deepStrictEqual([next.turn.state, next.text.trim()], ["succeeded", "Here I am."], JSON.stringify(next.turn))
  }
})

/** The session's own name at its agent. Null before the first turn that had an answer. */
const nativeSessionOf = async ({ records }: Installation, id: string) => {
  const row = Schema.Struct({ native_session_id: Schema.NullOr(Schema.String) })
  const [found] = await records.all(row, `select native_session_id from agent_states where session_id = '${id}'`)
  return found?.native_session_id
}

const agentsOf = ({ dataDir }: Installation, id: string) => agentsIn(join(dataDir, "sessions", id))

/** A session whose agent is kept for its next turn, with what the agent calls it. */
const sessionWithAgent = async (installation: Installation) => {
  const session = await newSession(installation)
  const { turn } = await installation.api.run({ session_id: session.id, content: say("First.") }).final()
  assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
  assert.lengthOf(agentsOf(installation, session.id), 1)
  const native = await nativeSessionOf(installation, session.id)
  assert.isString(native)
  return { session, native }
}

/** The next turn of a session has another process, and goes on with what the first one was told. */
const goesOn = async (
  installation: Installation,
  { native, session }: Awaited<ReturnType<typeof sessionWithAgent>>
) => {
  const { text, turn } = await installation.api.run({ session_id: session.id, content: say("Here I am.") }).final()
  assert.deepStrictEqual([turn.state, text.trim()], ["succeeded", "Here I am."], JSON.stringify(turn))
  assert.strictEqual(await nativeSessionOf(installation, session.id), native)
}

/** A turn that was to run on a kept agent runs on another one, in the same session of the agent. */
export const keptAgentIsReplaced: Row = {
  rule: "a turn that had a kept agent and never asked it runs, once, and nothing that was said is lost",
  play: async (installation, crash) => {
    const kept = await sessionWithAgent(installation)
    const sent = await crash(() =>
      installation.api.messages.send({ session_id: kept.session.id, content: say("Second.") })
    )
    await holdsEnd(installation, sent, { state: "succeeded", reason: null, attempts: again })
    await goesOn(installation, kept)
  }
}

/** A turn on a kept agent is never run again by itself, and the session goes on in the same session of the agent. */
export const keptAgentIsInterrupted = (passage = 1): Row => ({
  rule: "a turn on a kept agent is interrupted, and the session goes on where its agent was",
  play: async (installation, crash) => {
    const kept = await sessionWithAgent(installation)
    const sent = await crash(
      () => installation.api.messages.send({ session_id: kept.session.id, content: `${newName("Do.")} ${longWork}` }),
      passage
    )
    await holdsEnd(installation, sent, { state: "interrupted", reason: "service_restart", attempts: ["abandoned"] })
    await installation.api.turns.acknowledge({ turn_id: sent.turn_id ?? "" })
    await goesOn(installation, kept)
  }
})

/** An agent that had nothing to do when its server was killed is ended, and its session goes on. */
export const idleAgentIsEnded: Row = {
  rule: "an agent between its turns ends with its server, and nothing that was said is lost",
  play: async (installation, crash) => {
    const kept = await sessionWithAgent(installation)
    const note = { session_id: kept.session.id, content: newName("A note."), routing: "note" } as const
    await crash(() => installation.api.messages.send(note))
    await installation.until(() => agentsOf(installation, kept.session.id).length === 0, "its agent to be gone")
    await goesOn(installation, kept)
  }
}

/** A turn that is cancelled while the server dies has been cancelled. */
export const turnIsCancelled: Row = {
  rule: "a queued turn whose cancellation was asked for never runs",
  play: async (installation, crash) => {
    const session = await newSession(installation)
    await installation.api.messages.send({
      session_id: session.id,
      content: script([{ tool: "bash", cmd: "sleep 1" }])
    })
    const sent = await installation.api.messages.send({ session_id: session.id, content: say("Never.") })
    const turn = await crash(() => installation.api.turns.cancel({ turn_id: sent.turn_id ?? "" }))
    assert.deepStrictEqual([turn.state, turn.reason], ["cancelled", "user_cancelled"])
  }
}

export const delegationRunsOnce: Row = {
  rule: "a delegation has one child, whose words become its one result",
  play: async (installation, crash) => {
    const parent = await newSession(installation)
    const { delegation, operation } = await crash(() =>
      installation.api.sessions.delegate({
        session_id: parent.id,
        role: newName("Scout"),
        instructions: say("I looked.")
      })
    )
    await holdsAttempts(installation, operation, once)
    const result = await installation.api.delegations.getResult({ delegation_id: delegation.id })
    assert.strictEqual(result.summary, "I looked.")
  }
}
