import { createServer, request } from "node:http"
import type { Reins } from "@reins/client"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { variants } from "@reins/testing/Variants"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { keys, reinsAt, terminal, worldForFile } from "./Cli.js"

const world = worldForFile({ manifests: askingAgents("supported") })
const model = ["--model", "scripted-1"]

const write = script("Do it.", { tool: "write", path: "asked.txt", content: "yes\n" }, { say: "All done." })
const slow = script("Talk slowly.", { say: "First I look, then I think, and then I answer you.", slow_ms: 100 })
const more = script("And more.", { say: "Here is more." })

/** Words of the agent. The message that was typed has them, too, after a quote. */
const spoken = (words: string): RegExp => new RegExp(`(?<!")${words.replaceAll(".", "\\.")}`)

/** The service behind a proxy whose connections can be cut. */
const cuttable = async (url: string) => {
  const proxy = createServer((asked, answered) => {
    const { headers, method = "GET" } = asked
    const forwarded = request(`${url}${asked.url}`, { headers, method }, (answer) => {
      answered.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(answered)
      answered.on("close", () => answer.destroy())
    })
    forwarded.on("error", () => answered.destroy())
    asked.pipe(forwarded)
  })
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
  const address = proxy.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    cut: () => proxy.closeAllConnections(),
    close: () => {
      proxy.closeAllConnections()
      proxy.close()
    }
  }
}

/** The messages of the session that the conversation was about, after it has ended well. */
const messagesOf = async (client: Reins, { status, text }: { status: number | null; text: string }) => {
  assert.strictEqual(status, 0, text)
  const [, id = ""] = /Go on with it: reins chat --session (sess_\w+)/.exec(text) ?? []
  const { items } = await client.messages.list({ session_id: id })
  return items
    .filter(({ role }) => role === "user")
    .map(({ content }) => content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(""))
}

describe("reins chat", () => {
  it("holds a conversation: asks for approvals, shows diffs, and goes on after the connection was cut", async () => {
    const { at, client, url } = world()
    const proxy = await cuttable(url)
    const shown = terminal({ ...at, env: { ...at.env, REINS_URL: proxy.url } }, ["chat", write, ...model])
    await shown.until(/The agent asks to: write/)
    await shown.until(/Reject/)
    proxy.cut()
    shown.type(keys.enter)
    await shown.until(/All done\./)
    await shown.until(/\+yes/)
    await shown.until(/\/ui\/sessions\/sess_/)
    shown.type(`${more}${keys.enter}`)
    await shown.until(spoken("Here is more."))
    await shown.until(/\/ui\/sessions\/sess_/)
    shown.type(`/diff${keys.enter}`)
    await shown.until(/\+yes/)
    shown.type(`/exit${keys.enter}`)
    const { status, text } = await shown.finished
    proxy.close()
    assert.strictEqual(status, 0, text)
    const [, id = ""] = /Go on with it: reins chat --session (sess_\w+)/.exec(text) ?? []
    assert.lengthOf((await client.turns.list({ session_id: id })).items, 2)
  })

  it("tells what the server refuses, and goes on; Ctrl-D leaves", async () => {
    const { at, client, workspaceId } = world()
    const session = await client.sessions.create({ workspace_id: workspaceId })
    await client.sessions.close({ session_id: session.id })
    const shown = terminal(at, ["chat", "--session", session.id])
    await shown.until(/›/)
    shown.type(`Hello.${keys.enter}`)
    await shown.until(/closed/)
    shown.type(keys.leave)
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0, text)
    assert.notMatch(text, /PATCH|GET \/api|body\./)
  })

  it("takes what is typed while a turn runs as the next message, and leaves for Ctrl-D", async () => {
    const { at, client } = world()
    const shown = terminal(at, ["chat", slow, ...model])
    await shown.until(spoken("First I look"))
    shown.type(`${more}${keys.enter}`)
    await shown.until(spoken("Here is more."))
    await shown.until(/\/ui\/sessions\/sess_/)
    await shown.until(/›/)
    shown.type(`${slow}${keys.enter}`)
    await shown.until(spoken("First I look"))
    shown.type(keys.leave)
    assert.deepStrictEqual(await messagesOf(client, await shown.finished), [slow, more, slow])
  })

  it("asks only who has seen the question, and keeps what was typed before for the next message", async () => {
    const { at, client } = world()
    const asking = script(
      "Do it slowly.",
      { say: "I am about to write it.", slow_ms: 100, tool: "write", path: "asked.txt", content: "yes\n" },
      { say: "All done." }
    )
    const shown = terminal(at, ["chat", asking, ...model])
    await shown.until(/I am about/)
    shown.type(`${more}${keys.enter}`)
    await shown.until(/The agent asks to: write/)
    await shown.until(/Reject/)
    shown.type(keys.enter)
    await shown.until(/All done\./)
    await shown.until(spoken("Here is more."))
    shown.type(keys.leave)
    assert.deepStrictEqual(await messagesOf(client, await shown.finished), [asking, more])
  })

  it("sends a paste as one message, at Enter, and a message that comes together with Ctrl-D before it leaves", async () => {
    const { at, client } = world()
    const shown = terminal(at, ["chat", ...model])
    await shown.until(/›/)
    const pasted = ["Read this:", "C:\\", `${"a long line ".repeat(500)}.`, more].join("\n")
    shown.type(`\u001b[200~${pasted.replaceAll("\n", "\r")}\u001b[201~`)
    await shown.until(/And more/)
    shown.type(`Thanks.${keys.enter}`)
    await shown.until(spoken("Here is more."))
    await shown.until(/›/)
    shown.type(`${more}${keys.enter}${keys.leave}`)
    assert.deepStrictEqual(await messagesOf(client, await shown.finished), [`${pasted}Thanks.`, more])
  })

  variants(() => {
    it("keeps the last line of a paste that no terminal marks, and joins lines that end with a backslash", async () => {
      const { at, client } = world()
      const shown = terminal(at, ["chat", ...model])
      await shown.until(/›/)
      shown.type(`Read this.\rAnd this: \\\r${more}`)
      await shown.until(/And more/)
      shown.type(keys.enter)
      await shown.until(spoken("Here is more."))
      shown.type(keys.leave)
      assert.deepStrictEqual(await messagesOf(client, await shown.finished), [`Read this.\nAnd this: \n${more}`])
    })
  })

  it("says without a terminal what to take instead", async () => {
    const { status, stderr } = await reinsAt(world().at, ["chat"])
    assert.strictEqual(status, 1)
    assert.match(stderr, /^reins: reins chat needs a terminal\. Without one: reins run /)
  })
})
