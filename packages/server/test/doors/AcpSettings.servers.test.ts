import { type ElicitationPropertySchema, methods, type SessionConfigOption } from "@agentclientprotocol/sdk"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, describe, it } from "vitest"
import { worldForFile } from "../cli/Cli.js"
import { type EditorOptions, endEditors, initialize, openEditor, saidIn, withSessionAt } from "./Editor.js"

const world = worldForFile({ manifests: askingAgents("supported") })
afterAll(endEditors)

const { session } = methods.agent
const withSession = (options: EditorOptions = {}) => withSessionAt(world().at, options)

const write = (path: string) => script("Write.", { tool: "write", path, content: "hi\n" }, { say: "There it is." })

const currentModel = (options: ReadonlyArray<SessionConfigOption> | null | undefined) =>
  options?.find(({ id }) => id === "model")?.currentValue

describe("a session in an editor", () => {
  it("tells thoughts apart from words, and shows the plan of the agent as it changes", async () => {
    const { editor, prompt } = await withSession({ args: ["--mode", "auto"] })
    const entries = [
      { content: "Read the code", priority: "high", status: "completed" },
      { content: "Mend it", priority: "medium", status: "in_progress" }
    ]
    const done = entries.map((entry) => ({ ...entry, status: "completed" }))
    await prompt(
      script(
        "Plan it.",
        { think: "Let me see.", tool: "plan", args: { entries } },
        { tool: "plan", args: { entries: done } },
        { say: "Done." }
      )
    )
    const thoughts = editor.updates.flatMap((update) =>
      update.sessionUpdate === "agent_thought_chunk" && update.content.type === "text" ? [update.content.text] : []
    )
    assert.strictEqual(thoughts.join(""), "Let me see.")
    assert.include(saidIn(editor.updates), "Done.")
    assert.notInclude(saidIn(editor.updates), "Let me see.")
    const plans = editor.updates.flatMap((update) => (update.sessionUpdate === "plan" ? [update.entries] : []))
    assert.deepStrictEqual(plans, [entries, done] as typeof plans)
    await editor.close()
  })

  it("changes what the agent may do by itself with its mode", async () => {
    const asked: Array<string> = []
    const { editor, made, prompt, sessionId } = await withSession({
      args: ["--mode", "auto"],
      permission: ({ options, toolCall }) => {
        asked.push(toolCall.title ?? "")
        return {
          outcome: { outcome: "selected", optionId: options.find(({ kind }) => kind === "allow_once")?.optionId ?? "" }
        }
      }
    })
    assert.deepStrictEqual(
      made.modes?.availableModes.map(({ id }) => id),
      ["project", "ask", "auto", "look"]
    )
    await prompt(write("one.txt"))
    assert.lengthOf(asked, 0)
    await editor.agent.request(session.setMode, { sessionId, modeId: "ask" })
    await prompt(write("two.txt"))
    assert.lengthOf(asked, 1)
    await editor.agent.request(session.setMode, { sessionId, modeId: "look" })
    await prompt(write("three.txt"))
    assert.lengthOf(asked, 1)
    const { items } = await world().client.sessions.listFiles({ session_id: sessionId })
    const paths = items.map(({ path }) => path)
    assert.includeMembers(paths, ["one.txt", "two.txt"])
    assert.notInclude(paths, "three.txt")
    // Another editor shows the mode that is in force.
    const other = await openEditor(world().at)
    await initialize(other)
    const loaded = await other.agent.request(session.load, { sessionId, cwd: world().at.cwd, mcpServers: [] })
    assert.deepInclude(loaded.modes, { currentModeId: "look" })
    await Promise.all([editor.close(), other.close()])
  })

  it("asks the model that is chosen, from the next turn on", async () => {
    const { client, gateway } = world()
    const { editor, made, prompt, sessionId } = await withSession({ args: ["--mode", "auto"] })
    assert.strictEqual(currentModel(made.configOptions), "scripted-1")
    const { configOptions } = await editor.agent.request(session.setConfigOption, {
      sessionId,
      configId: "model",
      value: "scripted-2"
    })
    assert.strictEqual(currentModel(configOptions), "scripted-2")
    await prompt(script("Go.", { say: "With the other one." }))
    assert.strictEqual(gateway.requests.at(-1)?.model, "scripted-2")
    assert.strictEqual((await client.sessions.get({ session_id: sessionId })).harness.model, "scripted-2")
    const refused = await editor.agent
      .request(session.setConfigOption, { sessionId, configId: "nope", value: "x" })
      .catch(({ code }) => code)
    assert.strictEqual(refused, -32602)
    await editor.close()
  })

  it("keeps its options, which are the modes too, in the next editor, and takes no value that is not offered", async () => {
    const { at } = world()
    const { editor, made, sessionId } = await withSession({ args: ["--mode", "auto"] })
    const valueOf = (options: ReadonlyArray<SessionConfigOption> | null | undefined, id: string) =>
      options?.find((option) => option.id === id)?.currentValue
    assert.strictEqual(valueOf(made.configOptions, "mode"), "auto")
    const set = (configId: string, value: string) =>
      editor.agent.request(session.setConfigOption, { sessionId, configId, value })
    const { configOptions } = await set("mode", "look")
    assert.strictEqual(valueOf(configOptions, "mode"), "look")
    await set("model", "scripted-2")
    // Editors that know one of both hear of it.
    await eventually("the mode", () =>
      editor.updates.some((each) => each.sessionUpdate === "current_mode_update" && each.currentModeId === "look")
    )
    await editor.agent.request(session.setMode, { sessionId, modeId: "ask" })
    await eventually("the option", () =>
      editor.updates.some(
        (each) => each.sessionUpdate === "config_option_update" && valueOf(each.configOptions, "mode") === "ask"
      )
    )
    for (const [id, value] of [
      ["mode", "nope"],
      ["model", "no-such-model"],
      ["nope", "x"],
      ["model", true]
    ] as const) {
      const asked = { sessionId, configId: id, ...(value === true ? { type: "boolean" as const, value } : { value }) }
      const refused = await editor.agent.request(session.setConfigOption, asked).catch(({ code }) => code)
      assert.strictEqual(refused, -32_602, `${id} ${value}`)
    }
    await editor.close()
    const next = await openEditor(at)
    await initialize(next)
    for (const open of [session.load, session.resume] as const) {
      const opened = await next.agent.request(open, { sessionId, cwd: at.cwd, mcpServers: [] })
      assert.strictEqual(valueOf(opened.configOptions, "mode"), "ask")
      assert.strictEqual(valueOf(opened.configOptions, "model"), "scripted-2")
      assert.deepInclude(opened.modes, { currentModeId: "ask" })
    }
    await next.close()
  })

  it("is resumed in another editor without its past, and goes on there", async () => {
    const first = await withSession({ args: ["--mode", "auto"] })
    await first.prompt(script("One.", { say: "The first words." }))
    await first.editor.close()
    const { at } = world()
    const second = await openEditor(at)
    await initialize(second)
    await second.agent.request(session.resume, { sessionId: first.sessionId, cwd: at.cwd })
    const { stopReason } = await second.agent.request(session.prompt, {
      sessionId: first.sessionId,
      prompt: [{ type: "text", text: script("Two.", { say: "The next words." }) }]
    })
    assert.strictEqual(stopReason, "end_turn")
    await eventually("the next words", () => saidIn(second.updates).includes("The next words."))
    assert.notInclude(JSON.stringify(second.updates), "The first words.")
    await second.close()
  })
})

describe("a form of an agent", () => {
  const schema = {
    type: "object",
    properties: { name: { type: "string", title: "Name", minLength: 3 } },
    required: ["name"]
  }
  const message = script("Ask.", { tool: "elicit", args: schema }, { say: "Thank you." })

  it("is shown by an editor that has forms, and its values reach the agent", async () => {
    const fields: Array<Readonly<Record<string, ElicitationPropertySchema>>> = []
    const { editor, prompt, sessionId } = await withSession({
      capabilities: { elicitation: { form: {} } },
      form: (properties) => {
        fields.push(properties)
        return { action: "accept", content: { name: "Ada" } }
      }
    })
    assert.strictEqual((await prompt(message)).stopReason, "end_turn")
    assert.deepStrictEqual(
      fields.map((each) => Object.keys(each)),
      [["name"]]
    )
    const { items } = await world().client.interactions.list({ session_id: sessionId })
    assert.deepStrictEqual(items[0]?.content, { name: "Ada" })
    await editor.close()
  })

  it("is told with its page by an editor that has none, and stays open", async () => {
    const { client, url } = world()
    const { editor, prompt, sessionId } = await withSession()
    const ended = prompt(message)
    await eventually("the page", () => saidIn(editor.updates).includes(`${url}/ui/sessions/${sessionId}`))
    const [open] = (await client.interactions.list({ session_id: sessionId, state: "pending" })).items
    assert.deepInclude(open, { kind: "form", title: "Which one?" })
    await client.interactions.answer({
      interaction_id: open?.id ?? "",
      answer: open?.options.find(({ kind }) => kind === "accept")?.id ?? "",
      content: { name: "Ada" }
    })
    assert.strictEqual((await ended).stopReason, "end_turn")
    await editor.close()
  })
})
