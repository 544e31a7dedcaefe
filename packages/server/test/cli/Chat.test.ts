import { createServer, request } from "node:http"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { keys, reinsAt, terminal, worldForFile } from "./Cli.js"

const world = worldForFile({ manifests: askingAgents("supported") })
const model = ["--model", "scripted-1"]

const write = script("Do it.", { tool: "write", path: "asked.txt", content: "yes\n" }, { say: "All done." })
const more = script("And more.", { say: "Here is more." })

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
    await shown.until(/Here is more\./)
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
    shown.type("\u0004")
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0, text)
    assert.notMatch(text, /PATCH|GET \/api|body\./)
  })

  it("says without a terminal what to take instead", async () => {
    const { status, stderr } = await reinsAt(world().at, ["chat"])
    assert.strictEqual(status, 1)
    assert.match(stderr, /^reins: reins chat needs a terminal\. Without one: reins run /)
  })
})
