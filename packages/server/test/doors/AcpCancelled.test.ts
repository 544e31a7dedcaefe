import { once } from "node:events"
import { createServer, request as httpRequest, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { methods } from "@agentclientprotocol/sdk"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, describe, it } from "vitest"
import { worldForFile } from "../cli/Cli.js"
import { type Editor, endEditors, initialize, openEditor, sessionIn, toolsOf } from "./Editor.js"

const world = worldForFile()
afterAll(endEditors)

const { session } = methods.agent

/** A way to the service on which the list of sessions never gets an answer. */
const withoutLists = async (
  url: string
): Promise<{ readonly url: string; readonly server: Server; readonly held: () => number }> => {
  const target = new URL(url)
  let held = 0
  const server = createServer((asked, answer) => {
    if (asked.method === "GET" && /^\/api\/workspaces\/\w+\/sessions\?/.test(asked.url ?? "")) {
      held += 1
      return
    }
    const { headers, method, url: path } = asked
    const out = httpRequest({ hostname: target.hostname, port: target.port, path, method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(answer)
    })
    out.on("error", () => answer.destroy())
    answer.on("close", () => out.destroy())
    asked.pipe(out)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, held: () => held }
}

const codeOf = (asking: Promise<unknown>): Promise<unknown> =>
  asking.then(
    () => "answered",
    ({ code }) => code
  )

describe("a request that an editor takes back", () => {
  it("is answered with the protocol's code, and what it began ends", async () => {
    const { at, client, url } = world()
    const way = await withoutLists(url)
    const editor: Editor = await openEditor({ ...at, env: { ...at.env, REINS_URL: way.url } })
    await initialize(editor)
    const { prompt, sessionId, updates } = await sessionIn(editor, at)
    const taken = new AbortController()
    const sent = codeOf(
      editor.agent.request(
        session.prompt,
        { sessionId, prompt: [{ type: "text", text: endlessTool() }] },
        { cancellationSignal: taken.signal }
      )
    )
    await eventually("a tool runs", () => toolsOf(updates).some(({ title }) => title.includes("bash")))
    taken.abort()
    assert.strictEqual(await sent, -32_800)
    const { items } = await client.turns.list({ session_id: sessionId })
    assert.deepStrictEqual(
      items.map(({ state }) => state),
      ["cancelled"]
    )
    // The session goes on.
    assert.strictEqual((await prompt(script("Go on.", { say: "Again." }))).stopReason, "end_turn")

    const lists = new AbortController()
    const list = codeOf(editor.agent.request(session.list, {}, { cancellationSignal: lists.signal }))
    await eventually("the list was asked for", () => way.held() > 0)
    lists.abort()
    assert.strictEqual(await list, -32_800)
    // One that was answered meanwhile has its answer, and one of nothing changes nothing.
    await editor.agent.notify("$/cancel_request", { requestId: 999_999 })
    assert.strictEqual((await prompt(script("Once more.", { say: "Here." }))).stopReason, "end_turn")
    await editor.close()
    way.server.close()
    way.server.closeAllConnections()
  })
})
