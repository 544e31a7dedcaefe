import { methods, type RequestPermissionRequest } from "@agentclientprotocol/sdk"
import { askedApprovals, asksForAll } from "@reins/testing/harness/AskedApprovals"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { eventually } from "@reins/testing/process/Waiting"
import { afterAll, assert, describe, it } from "vitest"
import { reinsAt, worldForFile } from "../cli/Cli.js"
import { endAssistants, openAssistant, overHttp } from "./Assistant.js"
import { endEditors, initialize, openEditor } from "./Editor.js"

const world = worldForFile({ manifests: askingAgents("supported") })
afterAll(endAssistants)
afterAll(endEditors)

const hidden = /[\u202e\u2066\u200b]/

/** Each approval is shown in its place, and nothing in it hides anything. */
const assertShown = (shown: ReadonlyArray<string>) => {
  assert.lengthOf(shown, askedApprovals.length)
  for (const [at, { name, shows }] of askedApprovals.entries()) {
    for (const each of shows) assert.include(shown[at], each, name)
    assert.notMatch(shown[at] ?? "", hidden, name)
  }
}

const begin = async () => {
  const { client, project, workspaceId } = world()
  const { id } = await client.sessions.create({
    workspace_id: workspaceId,
    repository: { url: project.remote },
    harness: { provider_id: "alpha", model: "scripted-1" },
    permissions: { default: "ask" },
    message: asksForAll
  })
  return id
}

/** The question that comes after another. */
const nextQuestion = (session_id: string, before: string | undefined) =>
  eventually("a question", async () => {
    const { items } = await world().client.interactions.list({ session_id, state: "pending" })
    return items.find(({ id }) => id !== before)
  })

describe("what an agent asks leave for is shown", () => {
  it("on the terminal: where a run allows it, in the list of requests, and at its session", async () => {
    const { at, client } = world()
    const { status, stderr } = await reinsAt(at, ["run", asksForAll, "--model", "scripted-1", "--approve"])
    assert.strictEqual(status, 0, stderr)
    const allowed = stderr.split("-> Allow once\n").slice(0, -1)
    assertShown(allowed)
    const session_id = await begin()
    const shown: Array<string> = []
    const listed: Array<string> = []
    for (let last: string | undefined; shown.length < askedApprovals.length; ) {
      const { id } = await nextQuestion(session_id, last)
      listed.push((await reinsAt(at, ["requests"])).stdout)
      shown.push((await reinsAt(at, ["sessions", "show", session_id])).stdout)
      await client.interactions.answer({ interaction_id: id, answer: "once" })
      last = id
    }
    assertShown(shown)
    assertShown(listed)
  })

  it("to an editor, with the edit as its diff", async () => {
    const asked: Array<RequestPermissionRequest> = []
    const seen = new Set<string>()
    const { at } = world()
    const sessionId = await begin()
    const editor = await openEditor(at, {
      permission: (request) => {
        const isSecondLook =
          request.options.some(({ optionId }) => optionId === "once") && seen.has(request.toolCall.toolCallId)
        if (!isSecondLook) asked.push(request)
        seen.add(request.toolCall.toolCallId)
        const option = request.options.find(({ kind }) => kind === "allow_once")
        return { outcome: { outcome: "selected", optionId: option?.optionId ?? "" } }
      }
    })
    await initialize(editor)
    await editor.agent.request(methods.agent.session.load, { sessionId, cwd: at.cwd, mcpServers: [] })
    await eventually("all questions", () => asked.length === askedApprovals.length)
    await editor.close()
    // The edit is of a file out of those of the session, so that it takes one more look.
    const [edit, command] = asked
    assert.deepStrictEqual(
      edit?.options.map(({ kind, optionId }) => [kind, optionId]),
      [
        ["reject_once", "no"],
        ["allow_once", "reins.look-closer"]
      ]
    )
    assert.deepStrictEqual(
      command?.options.map(({ optionId }) => optionId),
      ["once", "always", "no"]
    )
    assert.deepInclude(command?.toolCall.rawInput, { command: "npm test > out.txt" })
    assert.deepInclude(asked[0]?.toolCall.content?.[0], {
      type: "diff",
      oldText: "let a = 1\nlet b = 2\n",
      newText: "let a = 2\nlet b = 2\n"
    })
    // The rest of a request is data for a program.
    assertShown(
      asked.map(({ toolCall: { content, title } }) =>
        [title, ...(content ?? []).flatMap((each) => wordsOf(each))].join("\n")
      )
    )
  })

  it("to an assistant and to its person, whole", async () => {
    const { apiKey, url } = world()
    const session_id = await begin()
    const told: Array<string> = []
    const shown: Array<string> = []
    const person = (message: string) => {
      shown.push(message)
      // The person can only refuse here, because not all of it is shown.
      return message.includes("refused here and allowed at") ? "no" : "once"
    }
    const { call } = await openAssistant(overHttp(url, apiKey), { era: "2026", person })
    for (let last: string | undefined; shown.length < askedApprovals.length; ) {
      const { id } = await nextQuestion(session_id, last)
      const { questions } = await call("get_session", { session_id })
      told.push(JSON.stringify(questions))
      assert.strictEqual((await call("answer", { session_id, interaction_id: id })).state, "answered")
      last = id
    }
    assertShown(shown)
    for (const message of shown)
      for (const each of [session_id, world().project.remote, "Started from: main"]) assert.include(message, each)
    for (const [at, { name, shows }] of askedApprovals.entries())
      if (!name.startsWith("hidden")) for (const each of shows) assert.include(told[at], each, name)
    assert.isTrue(shown.some((message) => message.includes("x".repeat(20_000))))
    const isRefusedOnly = askedApprovals.map(({ name }) => name).filter((_, at) => shown[at]?.includes("allowed at"))
    assert.deepStrictEqual(isRefusedOnly, ["edit", "unknown", "far edit"])
  })
})

const wordsOf = (
  content: NonNullable<RequestPermissionRequest["toolCall"]["content"]>[number]
): ReadonlyArray<string> => {
  if (content.type === "diff") return [content.path, content.oldText ?? "", content.newText]
  return content.type === "content" && content.content.type === "text" ? [content.content.text] : []
}
