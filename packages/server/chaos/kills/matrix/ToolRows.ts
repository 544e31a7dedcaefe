import { randomUUID } from "node:crypto"
import { ReinsApiError } from "@reins/client"
import { eventually } from "@reins/testing/process/Waiting"
import { Schema } from "effect"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { newName, newSession, say, script } from "../Scenes.js"
import type { Row } from "./Row.js"

/** The turn that tries another one again, at its end. */
export const retried = async (installation: Installation, turn_id: string) => {
  const turn = await installation.api.turns.retry({ turn_id })
  await installation.settled()
  return await installation.api.turns.get({ turn_id: turn.id })
}

/** The agent of a turn delegates while the server is killed, and again in the retry of the turn. */
export const childIsMadeOnce = (made: "before the kill" | "after the kill"): Row => ({
  rule: `an agent that delegates anew in a retry has one child, which was made ${made}`,
  series: "tools",
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
    const { items: children } = await installation.api.sessions.listDelegations({ session_id: session.id })
    const turnsOfChild = await installation.api.turns.list({ session_id: children[0]?.child_session_id ?? "" })
    // A kill that meets the turn of the child too interrupts it, and that is told of the child.
    const wasMet = turnsOfChild.items.some(({ reason }) => reason === "service_restart")
    assert.deepStrictEqual(
      children.map(({ role, state }) => [role, state]),
      [[name, wasMet ? "failed" : "succeeded"]],
      JSON.stringify([children, turnsOfChild.items])
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
  series: "tools",
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

const lookup = {
  name: "lookup_ticket",
  description: "Looks a ticket up.",
  input_schema: { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] }
}

/** The same under a name of its own, so that one program alone serves it. */
const ownLookup = () => ({ ...lookup, name: `lookup_${randomUUID().slice(0, 8)}` })

/** The agent of a turn calls a function of a program, and the server is killed before the agent has the answer. */
export const functionIsAnsweredOnce = (stored: "before the kill" | "after the kill"): Row => ({
  rule: `a call of a function whose answer is stored ${stored} is asked once, and the retry takes the answer`,
  series: "tools",
  play: async (installation, crash) => {
    const { interactions, messages, turns } = installation.api
    const { id: session_id } = await newSession(installation)
    const work = script([{ tool: "lookup_ticket", args: { ticket: 7 } }, { say: "Done." }])
    const send = () => messages.send({ session_id, content: `Triage it. ${work}`, tools: { functions: [lookup] } })
    const open = async () => (await interactions.list({ session_id })).items
    const answer = async () => {
      await eventually("the call is there", async () => (await open()).length > 0)
      const [call] = await open()
      await interactions.answer({ interaction_id: call?.id ?? "", result: "Found." })
    }
    const sent = await crash(async () => {
      const sent = await send()
      if (stored === "before the kill") await answer()
      return sent
    })
    const turn = await turns.get({ turn_id: sent.turn_id ?? "" })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
    if (stored === "after the kill") {
      assert.deepStrictEqual(
        (await open()).map(({ kind, state }) => [kind, state]),
        [["tool_call", "pending"]]
      )
      await answer()
    }
    const again = await retried(installation, turn.id)
    assert.strictEqual(again.state, "succeeded", JSON.stringify(again))
    assert.deepStrictEqual(
      (await open()).map(({ result, state }) => [state, result]),
      [["answered", "Found."]]
    )
    const { items } = await installation.api.toolCalls.list({ turn_id: again.id })
    assert.deepStrictEqual(
      items.map(({ state, tool }) => [tool, state]),
      [["lookup_ticket", "succeeded"]]
    )
  }
})

/** A program claims the call of a function while the server is killed. */
export const functionIsClaimedOnce: Row = {
  rule: "a program that claims a call through the kill has it alone, and the retry takes its answer",
  series: "tools",
  play: async (installation, crash) => {
    const { interactions, messages, turns } = installation.api
    const { id: session_id } = await newSession(installation)
    const work = script([{ tool: "lookup_ticket", args: { ticket: 7 } }, { say: "Done." }])
    const { turn_id = "" } = await messages.send({
      session_id,
      content: `Triage it. ${work}`,
      tools: { functions: [lookup] }
    })
    const open = async () => (await interactions.list({ session_id })).items
    await installation.until(async () => (await open()).length > 0, "the call")
    const [{ id: interaction_id = "" } = {}] = await open()
    const claim = (holder: string) => interactions.claim({ interaction_id, holder, seconds: 300 })
    const { attempt, claim_id } = await crash(() => claim("one"))
    assert.strictEqual(attempt, 1)
    const refused = await claim("another").catch((error: unknown) => error)
    assert.strictEqual(refused instanceof ReinsApiError && refused.code, "already_claimed")
    const turn = await turns.get({ turn_id })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
    await interactions.answer({ interaction_id, claim_id, result: "Found." })
    const again = await retried(installation, turn.id)
    assert.strictEqual(again.state, "succeeded", JSON.stringify(again))
    assert.deepStrictEqual(
      (await open()).map(({ result, state }) => [state, result]),
      [["answered", "Found."]]
    )
    await holdsCalls(installation, turn.id, ["lookup_ticket outcome_unknown"])
    await holdsCalls(installation, again.id, ["lookup_ticket succeeded"])
  }
}

/** The program has answered and the agent has the answer, and the server is killed before the end of the call is written down. */
export const answeredFunctionIsKept: Row = {
  rule: "a function that was answered before the kill runs once, and the retry takes the answer",
  series: "tools",
  play: async (installation, crash) => {
    const { interactions, messages, turns } = installation.api
    const { id: session_id } = await newSession(installation)
    const lookup = ownLookup()
    const work = script([{ tool: lookup.name, args: { ticket: 7 } }, { say: "Done." }])
    const ended = new AbortController()
    let runs = 0
    const tools = {
      [lookup.name]: {
        description: lookup.description,
        input: lookup.input_schema,
        run: async () => {
          runs++
          return "Found."
        }
      }
    }
    const serving = installation.api.serveTools({
      workspace_id: installation.workspaceId,
      tools,
      signal: ended.signal
    })
    const sent = await crash(() =>
      messages.send({ session_id, content: `Triage it. ${work}`, tools: { functions: [lookup] } })
    )
    const turn = await turns.get({ turn_id: sent.turn_id ?? "" })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
    const again = await retried(installation, turn.id)
    ended.abort()
    await serving
    assert.strictEqual(again.state, "succeeded", JSON.stringify(again))
    assert.strictEqual(runs, 1)
    const { items } = await interactions.list({ session_id })
    assert.deepStrictEqual(
      items.map(({ result, state }) => [state, result]),
      [["answered", "Found."]]
    )
    await holdsCalls(installation, turn.id, [`${lookup.name} outcome_unknown`])
  }
}

/** The calls of a turn, none of which runs any more. */
export const holdsCalls = async (installation: Installation, turn_id: string, wanted: ReadonlyArray<string>) => {
  const { items } = await installation.api.toolCalls.list({ turn_id })
  assert.deepStrictEqual(
    items.map(({ state, tool }) => `${tool} ${state}`),
    wanted
  )
}

/** The agent of a turn asks a person, and the server is killed before the agent has the answer. */
export const questionIsAskedOnce = (stored: "before the kill" | "after the kill"): Row => ({
  rule: `a question of an agent whose answer is stored ${stored} is asked once, and the retry takes the answer`,
  series: "tools",
  play: async (installation, crash) => {
    const { interactions, messages, turns } = installation.api
    const { id: session_id } = await newSession(installation)
    const work = script([
      { tool: "ask_user", args: { question: "Which one?", options: ["Red", "Blue"] } },
      { say: "Done." }
    ])
    const all = async () => (await interactions.list({ session_id })).items
    const answer = async () => {
      await eventually("the question is there", async () => (await all()).length > 0)
      const [question] = await all()
      await interactions.answer({ interaction_id: question?.id ?? "", answer: "2" })
    }
    const sent = await crash(async () => {
      const sent = await messages.send({ session_id, content: `Ask. ${work}` })
      if (stored === "before the kill") await answer()
      return sent
    })
    const turn = await turns.get({ turn_id: sent.turn_id ?? "" })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
    if (stored === "after the kill") {
      assert.deepStrictEqual(
        (await all()).map(({ kind, state }) => [kind, state]),
        [["question", "pending"]]
      )
      await answer()
    }
    const again = await retried(installation, turn.id)
    assert.strictEqual(again.state, "succeeded", JSON.stringify(again))
    assert.deepStrictEqual(
      (await all()).map(({ answer, state }) => [state, answer]),
      [["answered", "2"]]
    )
  }
})

/** The agent of a turn publishes a file, and the server is killed after that was committed. */
export const fileIsPublishedOnce: Row = {
  rule: "a file that was published before the kill is one artifact, also when the retry publishes it anew",
  series: "tools",
  play: async (installation, crash) => {
    const session = await newSession(installation)
    const work = script([
      { tool: "write", path: "report.txt", content: "It works.\n" },
      { tool: "publish_artifact", args: { path: "report.txt", title: "The report" } },
      { say: "Done." }
    ])
    const sent = await crash(() =>
      installation.api.messages.send({ session_id: session.id, content: `Publish it. ${work}` })
    )
    const turn = await installation.api.turns.get({ turn_id: sent.turn_id ?? "" })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
    assert.strictEqual((await retried(installation, turn.id)).state, "succeeded")
    const { items } = await installation.api.sessions.listArtifacts({ session_id: session.id })
    assert.deepStrictEqual(
      items.map(({ size, title, turn_id }) => [title, size, turn_id]),
      [["The report", 10, turn.id]]
    )
  }
}

/** The agent of a turn brings the changes of its child over, and the server is killed between two of the files. */
export const changesOfChildAreWhole: Row = {
  rule: "an application in a turn that was broken off names its paths, and the retry brings every file over",
  series: "tools",
  play: async (installation, crash) => {
    const { id: session_id } = await newSession(installation)
    const name = newName("writer")
    const files = { "a.txt": newName("a"), "b.txt": newName("b"), "c.txt": newName("c") }
    const writes = Object.entries(files).map(([path, content]) => ({ tool: "write", path, content }))
    const work = script([
      { tool: "delegate", args: { name, instructions: script([...writes, { say: "Written." }]) } },
      { tool: "wait", args: { delegation_ids: [name] } },
      { tool: "apply_changeset", args: { delegation_id: name } },
      { say: "Done." }
    ])
    const sent = await crash(() => installation.api.messages.send({ session_id, content: `Split this up. ${work}` }))
    const turn = await installation.api.turns.get({ turn_id: sent.turn_id ?? "" })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
    const applications = () =>
      installation.records.all(
        Schema.Struct({ state: Schema.String, changed: Schema.parseJson(Schema.Array(Schema.String)) }),
        `select state, changed from applications where target_session_id = '${session_id}' order by id`
      )
    assert.deepStrictEqual(
      (await applications()).map(({ state }) => state),
      ["failed"]
    )
    const again = await retried(installation, turn.id)
    assert.strictEqual(again.state, "succeeded", JSON.stringify(again))
    assert.deepStrictEqual(
      (await applications()).map(({ state }) => state),
      ["failed", "applied"]
    )
    for (const [path, content] of Object.entries(files))
      assert.strictEqual((await installation.api.sessions.getFile({ session_id, path })).content, content)
    const { items } = await installation.api.sessions.listDelegations({ session_id })
    assert.deepStrictEqual(
      items.map(({ role, state }) => [role, state]),
      [[name, "succeeded"]]
    )
  }
}
