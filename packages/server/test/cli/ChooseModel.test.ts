import { mkdtempSync } from "node:fs"
import { join } from "node:path"
import { variants } from "@reins/testing/Variants"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { type At, keys, reinsAt, terminal, worldForFile } from "./Cli.js"

const world = worldForFile()
/** A person whose choices of before are not known. */
const newcomer = (): At => {
  const { at, directory } = world()
  return { ...at, env: { ...at.env, XDG_STATE_HOME: mkdtempSync(join(directory, "state-")) } }
}

const hello = script("Say hello.", { say: "Hello there." })

/** The sessions of the workspace, newest first. */
const sessions = async () => (await world().client.sessions.list({ workspace_id: world().workspaceId })).items

describe("a connection without a preferred model", () => {
  it.each([[[]], [["--json"]], [["--detach"]]])(
    "has `reins run %j` name the models, and leaves no session",
    async (more) => {
      const before = await sessions()
      const { status, stderr } = await reinsAt(world().at, ["run", hello, ...more])
      assert.strictEqual(status, 1)
      assert.match(stderr, /Choose a model with --model: scripted-1, scripted-2\./)
      assert.notInclude(stderr, "Session ")
      assert.lengthOf(await sessions(), before.length)
    }
  )

  it("has a person choose the model of `reins run`", async () => {
    const before = await sessions()
    const shown = terminal(newcomer(), ["run", hello])
    await shown.until(/Which model\?/)
    shown.type(`scripted-2${keys.enter}`)
    await shown.until(/Hello there\./)
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0, text)
    const after = await sessions()
    assert.lengthOf(after, before.length + 1)
    assert.strictEqual(after[0]?.harness.model, "scripted-2")
  })

  variants(() => {
    it("leaves no session where the person leaves the question", async () => {
      const before = await sessions()
      const shown = terminal(newcomer(), ["run", hello])
      await shown.until(/Which model\?/)
      shown.type(keys.interrupt)
      const { text } = await shown.finished
      assert.include(text, "Nothing more was done.")
      assert.lengthOf(await sessions(), before.length)
    })
  })

  variants(() => {
    it("has a person choose it in the middle of `reins chat`, which goes on", async () => {
      const shown = terminal(newcomer(), ["chat", hello])
      await shown.until(/Which model\?/)
      shown.type(keys.enter)
      await shown.until(/Hello there\./)
      await shown.until(/\/ui\/sessions\/sess_/)
      shown.type(`${script("Again.", { say: "Once more." })}${keys.enter}`)
      await shown.until(/Once more\./)
      await shown.until(/\/ui\/sessions\/sess_/)
      shown.type(`/exit${keys.enter}`)
      assert.strictEqual((await shown.finished).status, 0)
    })
  })
})

describe("a session that is there", () => {
  it("goes on with the model that is named", async () => {
    const { at, client, workspaceId } = world()
    const { id } = await client.sessions.create({ workspace_id: workspaceId })
    const { status, stderr } = await reinsAt(at, ["run", hello, "--session", id, "--model", "scripted-2"])
    assert.strictEqual(status, 0, stderr)
    assert.strictEqual((await client.sessions.get({ session_id: id })).harness.model, "scripted-2")
  })

  it.each([
    ["--repo", "."],
    ["--ref", "main"],
    ["--sparse", "src"],
    ["--agent", "codex"],
    ["--provider", "beta"]
  ])("takes no %s", async (name, value) => {
    const { at, client, workspaceId } = world()
    const { id } = await client.sessions.create({ workspace_id: workspaceId })
    const { status, stderr } = await reinsAt(at, ["run", hello, "--session", id, name, value])
    assert.strictEqual(status, 1)
    assert.include(stderr, `The session has that already. Leave out ${name} or --session.`)
  })

  it("has its limit changed by a command of its own, not by `reins chat`", async () => {
    const { at, client, workspaceId } = world()
    const { id } = await client.sessions.create({ workspace_id: workspaceId })
    const { status, text } = await terminal(at, ["chat", "--session", id, "--budget", "200k"]).finished
    assert.strictEqual(status, 1)
    assert.include(text, `reins budget ${id} 200k`)
    assert.isNull((await client.sessions.get({ session_id: id })).budget)
  })
})

describe("a message that begins with empty lines", () => {
  it("gives the session its first words as the title", async () => {
    const { at } = world()
    const { status, stderr } = await reinsAt(at, ["run", `\n\n${hello}`, "--model", "scripted-1"])
    assert.strictEqual(status, 0, stderr)
    assert.match((await sessions())[0]?.title ?? "", /^Say hello\./)
  })
})
