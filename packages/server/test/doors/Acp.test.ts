import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { methods, type RequestPermissionRequest } from "@agentclientprotocol/sdk"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, describe, it } from "vitest"
import { git, worldForFile } from "../cli/Cli.js"
import {
  type Editor,
  type EditorOptions,
  endEditors,
  initialize,
  openEditor,
  saidIn,
  sessionIn,
  toolsOf,
  withSessionAt,
  wordsOf
} from "./Editor.js"

const world = worldForFile()
const asks = worldForFile({ manifests: askingAgents("supported") })
afterAll(endEditors)

const { session } = methods.agent
const asking = ["--mode", "ask"]

/** An editor with a new session in the folder of the project. */
const withSession = (options: EditorOptions = {}, { at } = world()) => withSessionAt(at, options)

let shared: Promise<Editor> | undefined

/** A new session in the editor of all tests that neither set it up nor close it. */
const newSession = async () => {
  const { at } = world()
  shared ??= openEditor(at).then(async (editor) => {
    await initialize(editor)
    return editor
  })
  return sessionIn(await shared, at)
}

const load = (editor: Editor, sessionId: string, { at } = world()) =>
  editor.agent.request(session.load, { sessionId, cwd: at.cwd, mcpServers: [] })

const write = script(
  "Write.",
  { say: "I write it.", tool: "write", path: "hello.txt", content: "hi\n" },
  { say: "There it is." }
)

describe("reins acp", () => {
  it("streams words and tools with their diffs, and answers when all of it was told", async () => {
    const { editor, made, prompt, sessionId } = await withSession()
    assert.deepInclude(made.configOptions?.[0], { id: "model", currentValue: "scripted-1" })
    const { stopReason } = await prompt(write)
    assert.strictEqual(stopReason, "end_turn")
    const said = saidIn(editor.updates)
    assert.match(said, /I write it\.[\s\S]*There it is\.[\s\S]*1 file changed, \+1 -0/)
    const tool = toolsOf(editor.updates).find(({ title }) => title.includes("write"))
    assert.deepInclude(tool, { status: "completed" })
    assert.include(
      toolsOf(editor.updates).map(({ title }) => title),
      "Preparing the workspace"
    )
    const { items } = await world().client.messages.list({ session_id: sessionId })
    const texts = items
      .filter(({ role }) => role === "assistant")
      .map(({ parts }) => parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(""))
    assert.deepStrictEqual(Object.values(wordsOf(editor.updates)), texts)
    assert.strictEqual(await editor.close(), 0)
  })

  it("shows, applies and delivers the changes with commands of its own", async () => {
    const { at, project } = world()
    const { prompt, updates } = await newSession()
    await prompt(write)
    updates.length = 0
    await prompt("/diff")
    assert.match(saidIn(updates), /^```diff\ndiff --git a\/hello\.txt [\s\S]*\+hi\n```/)
    assert.isFalse(existsSync(join(at.cwd, "hello.txt")))
    await prompt("/apply")
    assert.strictEqual(readFileSync(join(at.cwd, "hello.txt"), "utf8"), "hi\n")
    git(at.cwd, "reset", "--quiet", "--hard")
    await prompt("/deliver from-an-editor")
    assert.include(saidIn(updates), "Pushed as the branch `from-an-editor`.")
    assert.strictEqual(git(project.remote, "show", "from-an-editor:hello.txt"), "hi")
  })

  it("cancels a turn, and takes the next prompt", async () => {
    const { editor, prompt, sessionId, updates } = await newSession()
    const first = prompt(endlessTool())
    await eventually("a tool runs", () => toolsOf(updates).some(({ title }) => title.includes("bash")))
    await editor.agent.notify(session.cancel, { sessionId })
    assert.strictEqual((await first).stopReason, "cancelled")
    assert.strictEqual((await prompt(script("Go on.", { say: "Again." }))).stopReason, "end_turn")
  })

  it("queues a prompt that comes while one runs", async () => {
    const { prompt, updates } = await newSession()
    const ends = await Promise.all([
      prompt(script("One.", { say: "First." })),
      prompt(script("Two.", { say: "Second." }))
    ])
    assert.deepStrictEqual(
      ends.map(({ stopReason }) => stopReason),
      ["end_turn", "end_turn"]
    )
    assert.match(saidIn(updates), /First\.[\s\S]*Second\./)
  })

  it("asks the person, and gives the answer to the agent", async () => {
    const asked: Array<RequestPermissionRequest> = []
    const { editor, made, prompt } = await withSession(
      {
        args: asking,
        permission: (request) => {
          asked.push(request)
          const option = request.options.find(({ kind }) => kind === "allow_once")
          return { outcome: { outcome: "selected", optionId: option?.optionId ?? "" } }
        }
      },
      asks()
    )
    assert.deepInclude(made.modes, { currentModeId: "ask" })
    assert.strictEqual((await prompt(write)).stopReason, "end_turn")
    assert.lengthOf(asked, 1)
    const tools = toolsOf(editor.updates).map(({ toolCallId }) => toolCallId)
    assert.include(tools, asked[0]?.toolCall.toolCallId)
    assert.include(saidIn(editor.updates), "1 file changed")
    await editor.close()
  })

  it("leaves a question open when the editor closes, and asks it again in the next one", async () => {
    let isAsked = false
    const first = await withSession(
      {
        args: asking,
        permission: () => {
          isAsked = true
          return new Promise(() => undefined)
        }
      },
      asks()
    )
    first.prompt(write).catch(() => undefined)
    await eventually("a question", () => isAsked)
    await first.editor.close()
    const { client, at } = asks()
    assert.strictEqual((await client.sessions.get({ session_id: first.sessionId })).activity, "requires_action")
    const second = await openEditor(at, {
      permission: ({ options }) => ({
        outcome: { outcome: "selected", optionId: options.find(({ kind }) => kind === "allow_once")?.optionId ?? "" }
      })
    })
    await initialize(second)
    await load(second, first.sessionId, asks())
    assert.match(JSON.stringify(second.updates), /user_message_chunk/)
    await eventually("the end", () => saidIn(second.updates).includes("1 file changed"))
    assert.lengthOf(
      toolsOf(second.updates).filter(({ title }) => title.includes("write")),
      1
    )
    await second.close()
  })

  it("takes a question back that was answered elsewhere", async () => {
    let isWithdrawn = false
    const { editor, prompt, sessionId } = await withSession(
      {
        args: asking,
        permission: (_, withdrawn) =>
          new Promise((resolve) =>
            withdrawn.addEventListener("abort", () => {
              isWithdrawn = true
              resolve({ outcome: { outcome: "cancelled" } })
            })
          )
      },
      asks()
    )
    const sent = prompt(write)
    const { client } = asks()
    const open = await eventually(
      "a question",
      async () => (await client.interactions.list({ session_id: sessionId, state: "pending" })).items[0]
    )
    const option = open.options.find(({ kind }) => kind === "allow_once")
    await client.interactions.answer({ interaction_id: open.id, answer: option?.id ?? "" })
    assert.strictEqual((await sent).stopReason, "end_turn")
    await eventually("the withdrawal", () => isWithdrawn)
    await editor.close()
  })

  it("lists the sessions of the folder's repository, and refuses what there is not", async () => {
    const { at, directory } = world()
    const { editor, sessionId } = await newSession()
    const { sessions } = await editor.agent.request(session.list, { cwd: at.cwd })
    assert.include(
      sessions.map((each) => each.sessionId),
      sessionId
    )
    assert.deepStrictEqual((await editor.agent.request(session.list, { cwd: directory })).sessions, [])
    const codes = await Promise.all([
      load(editor, "sess_00000000000000000000000000").catch(({ code }) => code),
      editor.agent.request(session.new, { cwd: directory, mcpServers: [] }).catch(({ code }) => code),
      editor.agent.request(session.setMode, { sessionId, modeId: "nope" }).catch(({ code }) => code)
    ])
    assert.deepStrictEqual(codes, [-32002, -32602, -32602])
  })

  it("says that the key is wrong when a session is asked for, and begins without a server", async () => {
    const { at } = world()
    const editor = await openEditor({ ...at, env: { ...at.env, REINS_API_KEY: "rk_wrong" } })
    const { agentCapabilities, authMethods } = await initialize(editor, { auth: { terminal: true } })
    assert.isTrue(agentCapabilities?.loadSession)
    assert.deepInclude(authMethods?.[0], { type: "terminal", args: ["init"] })
    const refused = await editor.agent
      .request(session.new, { cwd: at.cwd, mcpServers: [] })
      .catch(({ code, message }) => ({ code, message }))
    assert.deepInclude(refused, { code: -32000 })
    await editor.close()
  })

  it("adds the text of a file that differs in the editor, and leaves out those that a link leads to outside", async () => {
    const { at, client } = world()
    const { editor, sessionId } = await newSession()
    writeFileSync(join(at.cwd, "cart.js"), "// not committed\n")
    await editor.agent.request(session.prompt, {
      sessionId,
      prompt: [
        { type: "text", text: script("Look.", { say: "Seen." }) },
        { type: "resource_link", name: "cart.js", uri: `file://${join(at.cwd, "cart.js")}` },
        { type: "resource_link", name: "a page", uri: "https://example.com/page" },
        { type: "resource", resource: { uri: `file://${join(at.cwd, "cart.js")}#L1:2`, text: "// selected\n" } }
      ]
    })
    const { items } = await client.messages.list({ session_id: sessionId })
    const content = JSON.stringify(items.find(({ role }) => role === "user")?.content)
    assert.include(content, "// not committed")
    assert.include(content, "`cart.js`, which differs in the editor")
    assert.include(content, "https://example.com/page")
    assert.include(content, String.raw`<file path=\"cart.js\" lines=\"1-2\">\n// selected`)
  })

  it("attaches pictures and files from elsewhere, which no changeset holds", async () => {
    const { at, client, directory } = world()
    const { editor, sessionId } = await newSession()
    writeFileSync(join(directory, "notes.txt"), "From another folder.\n")
    const picture = Buffer.from("iVBORw0KGgo=", "base64").toString("base64")
    await editor.agent.request(session.prompt, {
      sessionId,
      prompt: [
        { type: "text", text: write },
        { type: "image", mimeType: "image/png", data: picture },
        { type: "resource_link", name: "notes.txt", uri: `file://${join(directory, "notes.txt")}` },
        { type: "resource", resource: { uri: "zed:///a/dump.bin", blob: picture } }
      ]
    })
    const { items } = await client.messages.list({ session_id: sessionId })
    const files = items[0]?.content.flatMap((block) => (block.type === "file" ? [[block.place, block.path]] : []))
    assert.deepStrictEqual(files, [
      ["attachment", "image-2.png"],
      ["attachment", "notes.txt"],
      ["attachment", "dump.bin"]
    ])
    const [changeset] = (await client.sessions.listChangesets({ session_id: sessionId })).items
    assert.deepStrictEqual(
      (await client.changesets.get({ changeset_id: changeset?.id ?? "" })).files.map(({ path }) => path),
      ["hello.txt"]
    )
    // Another editor shows them by their names.
    const second = await openEditor(at)
    await initialize(second)
    await load(second, sessionId)
    assert.include(JSON.stringify(second.updates), "(attached: image-2.png)")
    await second.close()
  })
})
