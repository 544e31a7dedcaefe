import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { eventually } from "@reins/testing/process/Waiting"
import { variants } from "@reins/testing/Variants"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { git, keys, reinsAt, reinsProcess, terminal, worldForFile } from "./Cli.js"

const world = worldForFile({ manifests: askingAgents("supported") })

const message = script("Do it.", { tool: "write", path: "asked.txt", content: "yes\n" }, { say: "All done." })
const run = ["run", message, "--model", "scripted-1"]

describe("what an agent asks", () => {
  it("is asked on the terminal, without colours with NO_COLOR; the answer reaches the agent, and a no delivers nothing", async () => {
    const { at, project } = world()
    const shown = terminal({ ...at, env: { ...at.env, NO_COLOR: "1" } }, run)
    await shown.until(/The agent asks to: write/)
    await shown.until(/Reject/)
    shown.type(keys.enter)
    await shown.until(/\+yes/)
    await shown.until(/Deliver this as a branch/)
    shown.type("n")
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0, text)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is how a terminal is told of a style
    assert.notMatch(shown.raw(), /\u001b\[[\d;]*m/)
    assert.strictEqual(git(project.remote, "branch", "--list"), "* main")
  })

  variants(() => {
    it("is taken from the terminal when somebody else has answered", async () => {
      const { at, client, workspaceId } = world()
      const shown = terminal(at, run)
      await shown.until(/The agent asks to: write/)
      const [session] = (await client.sessions.list({ workspace_id: workspaceId, limit: 1 })).items
      const { items } = await client.interactions.list({ session_id: session?.id ?? "", state: "pending" })
      await client.interactions.answer({ interaction_id: items[0]?.id ?? "", answer: "once" })
      await shown.until(/Deliver this as a branch/)
      shown.type("n")
      const { status, text } = await shown.finished
      assert.strictEqual(status, 0, text)
      assert.notInclude(text, "The answer was not taken")
    })
  })

  it("is left with --json to whoever reads the events, and is in the status until nothing waits", async () => {
    const { at, client, workspaceId } = world()
    for await (const { id } of client.sessions.list({ workspace_id: workspaceId }))
      await client.sessions.archive({ session_id: id })
    const running = reinsAt(at, [...run, "--json"])
    const asked = await eventually("a question", async () => {
      const [session] = (await client.sessions.list({ workspace_id: workspaceId, limit: 1 })).items
      return (await client.interactions.list({ session_id: session?.id ?? "", state: "pending" })).items[0]
    })
    const waiting = await reinsProcess(at, ["status", "--exit-code"])
    assert.deepStrictEqual([waiting.status, waiting.stderr], [6, ""])
    assert.match(waiting.stdout, /^Waits for you: 1\n {2}\w{4} .* Asks you: write(?: \(new\))?\nAgents work: nothing\n/)
    const listed = await reinsProcess(at, ["requests", "--json"])
    assert.strictEqual(JSON.parse(listed.stdout).id, asked.id)
    await client.interactions.answer({ interaction_id: asked.id, answer: "once" })
    const { status, stderr, stdout } = await running
    assert.deepStrictEqual([status, stderr], [0, ""])
    const made = await reinsAt(at, ["status", "--json", "--exit-code"])
    assert.deepStrictEqual([made.status, JSON.parse(made.stdout).waiting[0]?.state], [6, "review"])
    await client.sessions.archive({ session_id: asked.session_id })
    const calm = await reinsAt(at, ["status", "--exit-code"])
    assert.deepStrictEqual([calm.status, calm.stderr], [0, ""])
    assert.include(calm.stdout, "Waits for you: nothing\n")
    assert.nestedPropertyVal(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? ""), "changeset.file_count", 1)
  })

  it("is allowed with --approve, and refused where there is nobody to ask", async () => {
    const { at } = world()
    const approved = await reinsAt(at, [...run, "--approve"])
    assert.strictEqual(approved.status, 0, approved.stderr)
    assert.include(approved.stdout, "+yes")
    assert.match(approved.stderr, /^\? The agent asks to: write -> Allow once$/m)
    const alone = await reinsAt(at, run)
    assert.strictEqual(alone.status, 0, alone.stderr)
    assert.match(alone.stderr, /^\? The agent asks to: write -> Reject \(no terminal to ask; --approve allows it\)$/m)
    assert.notInclude(alone.stdout, "+yes")
  })

  variants(() => {
    it("is not answered by what was typed before it was shown", async () => {
      const { at, project } = world()
      const slow = script(
        "Do it slowly.",
        { tool: "write", path: "slow.txt", content: "yes\n" },
        { say: "Now I tell you slowly what I did.", slow_ms: 100 }
      )
      const shown = terminal(at, ["run", slow, "--model", "scripted-1", "--approve"])
      await shown.until(/Now I tell/)
      shown.type(`y${keys.enter}`)
      await shown.until(/Deliver this as a branch/)
      await shown.until(/Yes/)
      shown.type("n")
      const { status, text } = await shown.finished
      assert.strictEqual(status, 0, text)
      assert.strictEqual(git(project.remote, "branch", "--list"), "* main")
    })

    it("is Ctrl-C of the turn when it is answered so", async () => {
      const shown = terminal(world().at, run)
      await shown.until(/The agent asks to: write/)
      shown.type(keys.interrupt)
      const { status, text } = await shown.finished
      assert.strictEqual(status, 130, text)
      assert.include(text, "The turn was cancelled.")
    })
  })
})

/** A run whose agent asks leave for a call. */
const permits = (toolCall: object, more: object = {}) => {
  const args = { toolCall: { toolCallId: "c1", status: "pending", ...toolCall }, ...more }
  return ["run", script("Do it.", { tool: "permit", args }, { say: "All done." }), "--model", "scripted-1"]
}

describe("the subject of an approval", () => {
  it("stands on the terminal by its lines, and what is not shown whole is asked for once more", async () => {
    const content = [{ type: "diff", path: "/etc/hosts", oldText: "one\ntwo\n", newText: "one\nTWO\n" }]
    const shown = terminal(world().at, permits({ kind: "edit", title: "Edit files", content }))
    await shown.until(/Change of \/etc\/hosts, at a place that is not known:/)
    await shown.until(/- two/)
    await shown.until(/\+ TWO/)
    await shown.until(/Not all of it can be shown: a path leads out of the files of the session\./)
    await shown.until(/The agent asks to: Edit files: \/etc\/hosts/)
    await shown.until(/Reject/)
    shown.type(keys.enter)
    await shown.until(/Allow it all the same\?/)
    shown.type("y")
    await shown.until(/All done\./)
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0, text)
  })

  it("is asked for anew when the agent changes its call, and the answer is about the new one", async () => {
    const { at, client, workspaceId } = world()
    const update = { sessionUpdate: "tool_call_update", toolCallId: "c1", rawInput: { command: "npm run clean" } }
    const call = { kind: "execute", title: "Run", rawInput: { command: "npm test" } }
    const shown = terminal(at, permits(call, { later: { file: "go", update } }))
    await shown.until(/\$ npm test/)
    await shown.until(/Reject/)
    const [session] = (await client.sessions.list({ workspace_id: workspaceId, limit: 1 })).items
    const session_id = session?.id ?? ""
    await client.sessions.uploadFile({ session_id, path: "go", content: "" })
    await shown.until(/The agent has changed what it asks for\./)
    await shown.until(/\$ npm run clean/)
    await shown.until(/Reject/)
    shown.type(keys.enter)
    await shown.until(/All done\./)
    const [asked] = (await client.interactions.list({ session_id })).items
    assert.deepInclude(asked, { state: "answered", answer: "once" })
    assert.strictEqual(asked?.subject?.command, "npm run clean")
  })
})

describe("a form of an agent", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", title: "Name", minLength: 3 },
      nick: { type: "string", title: "Nickname" },
      count: { type: "integer", title: "Count", default: 2, maximum: 9 },
      loud: { type: "boolean", title: "Loud" },
      colour: {
        type: "string",
        title: "Colour",
        oneOf: [
          { const: "r", title: "Red" },
          { const: "g", title: "Green" }
        ]
      },
      tags: { type: "array", title: "Tags", items: { enum: ["a", "b", "c"] }, minItems: 1 }
    },
    required: ["name", "count", "colour", "tags"]
  }
  const asks = ["run", script("Ask.", { tool: "elicit", args: schema }, { say: "Thank you." }), "--model", "scripted-1"]

  it("is filled in on the terminal, each field by its type, and its values reach the agent", async () => {
    const { at, gateway } = world()
    const shown = terminal(at, asks)
    await shown.until(/The agent asks: Which one\?/)
    shown.type(keys.enter)
    await shown.until(/Name \(required\)/)
    shown.type(`ab${keys.enter}`)
    await shown.until(/it takes 3 characters at least/)
    shown.type(`c${keys.enter}`)
    await shown.until(/Nickname \(optional\)/)
    shown.type(keys.enter)
    await shown.until(/Count \(a whole number, required\)/)
    shown.type(`.5${keys.enter}`)
    await shown.until(/it takes a whole number/)
    shown.type(`${keys.clear}7${keys.enter}`)
    await shown.until(/Loud/)
    shown.type("y")
    await shown.until(/Colour/)
    shown.type(`${keys.down}${keys.enter}`)
    await shown.until(/Tags/)
    shown.type(keys.enter)
    await shown.until(/Tags: it takes 1 choices at least/)
    shown.type(` ${keys.down} ${keys.enter}`)
    await shown.until(/Thank you\./)
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0, text)
    const content = { name: "abc", count: 7, loud: true, colour: "g", tags: ["a", "b"] }
    const heard = gateway.requests.at(-1)?.messages.at(-1)?.text ?? ""
    assert.deepStrictEqual(JSON.parse(heard), { action: "accept", content })
  })

  it("is declined where there is nobody to ask", async () => {
    const { at, gateway } = world()
    const { status, stderr } = await reinsAt(at, asks)
    assert.strictEqual(status, 0, stderr)
    assert.include(gateway.requests.at(-1)?.messages.at(-1)?.text, "decline")
  })
})
