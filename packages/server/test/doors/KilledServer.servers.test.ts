import { setImmediate } from "node:timers/promises"
import { methods } from "@agentclientprotocol/sdk"
import type { Reins } from "@reins/client"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller } from "@reins/testing/process/Caller"
import { pagesOfOne } from "@reins/testing/process/PagesOfOne"
import { placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { startServer } from "@reins/testing/process/ServerProcess"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, it } from "vitest"
import { makeProject } from "../cli/Cli.js"
import { endEditors, initialize, openEditor, saidIn, toolsOf, wordsOf } from "./Editor.js"
import { type FarEditor, farEditor, textOf, ways } from "./FarEditor.js"

const place = placeForEachTest()
afterAll(endEditors)

const { session } = methods.agent

/** The words of each message of the agent, as the log has them. */
const loggedWords = async (client: Reins, session_id: string): Promise<Readonly<Record<string, string>>> => {
  const { items } = await client.messages.list({ session_id, limit: 200 })
  return Object.fromEntries(
    items.flatMap(({ id, parts, role }) => {
      const words = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("")
      return role === "assistant" && words !== "" ? [[id, words]] : []
    })
  )
}

it("an editor outlives a killed server: its prompt ends with the reason, and the next one works", async () => {
  const { dataDir, directory } = place
  const port = String(await steadyPort())
  const env = { REINS_CACHE_DIR: cacheWithSmallAgent(directory), REINS_ALLOW_LOCAL_REPOSITORIES: "true" }
  const start = () => startServer({ dataDir, env, args: ["--port", port] })
  const first = await start()
  const caller = await newCaller(first, dataDir, place.gateway)
  const project = makeProject(directory)
  const pages = await pagesOfOne(first.url)
  const editor = await openEditor({
    cwd: project.folder,
    env: { REINS_URL: pages.url, REINS_API_KEY: caller.apiKey, HOME: directory }
  })
  await initialize(editor)
  const { sessionId } = await editor.agent.request(session.new, { cwd: project.folder, mcpServers: [] })
  const prompt = (text: string) => editor.agent.request(session.prompt, { sessionId, prompt: [{ type: "text", text }] })
  // The turn that the kill interrupts is on no first page.
  assert.strictEqual((await prompt(script("Begin.", { say: "I begin." }))).stopReason, "end_turn")
  const cutOff = prompt(endlessTool()).catch(({ code, data, message }) => ({ code, data, message }))
  await eventually("a tool runs", () => toolsOf(editor.updates).some(({ title }) => title.includes("bash")))
  first.kill("SIGKILL")
  await first.ended
  const second = await start()
  const ended = await cutOff
  assert.deepInclude(ended, { code: -32603 })
  assert.include(JSON.stringify(ended), "service_restart")

  assert.strictEqual((await prompt(script("Go on.", { say: "Here I am." }))).stopReason, "end_turn")
  await setImmediate()
  assert.include(saidIn(editor.updates), "Here I am.")

  // A server that goes while nothing runs is not noticed.
  second.kill("SIGKILL")
  await second.ended
  const third = await start()
  assert.strictEqual((await prompt(script("Once more.", { say: "Still here." }))).stopReason, "end_turn")
  await setImmediate()
  const client = caller.at(third)
  assert.deepStrictEqual(wordsOf(editor.updates), await loggedWords(client, sessionId))
  await editor.close()
  pages.close()
}, 120_000)

it.each(["HTTP", "WebSocket"] as const)(
  "an editor that comes over %s loads its session from a server that was killed in a turn",
  async (way) => {
    const { dataDir, directory } = place
    const env = { REINS_CACHE_DIR: cacheWithSmallAgent(directory), REINS_ACP: "on" }
    const args = ["--port", String(await steadyPort())]
    const first = await startServer({ dataDir, env, args })
    const caller = await newCaller(first, dataDir, place.gateway)
    const come = ({ url }: { readonly url: string }) => farEditor(ways[way]({ url, apiKey: caller.apiKey }))
    const prompt = ({ agent }: FarEditor, sessionId: string, text: string) =>
      agent.request(session.prompt, { sessionId, prompt: textOf(text) })
    const editor = await come(first)
    const { sessionId } = await editor.agent.request(session.new, { cwd: "/", mcpServers: [] })
    assert.strictEqual((await prompt(editor, sessionId, script("One.", { say: "The first." }))).stopReason, "end_turn")
    const words = Array.from({ length: 2000 }, (_, index) => `word-${index}`).join(" ")
    const cutOff = prompt(editor, sessionId, script("Many.", { say: words, slow_ms: 20 })).catch(() => "cut")
    await eventually("words of the turn", () => saidIn(editor.updates).includes("word-20"))
    first.kill("SIGKILL")
    await first.ended
    assert.strictEqual(await cutOff, "cut")

    const second = await startServer({ dataDir, env, args })
    const client = caller.at(second)
    await eventually("the end of the turn", async () => {
      const { items } = await client.turns.list({ session_id: sessionId })
      return items.every(({ state }) => state === "succeeded" || state === "interrupted")
    })
    const next = await come(second)
    await next.agent.request(session.load, { sessionId, cwd: "/", mcpServers: [] })
    const logged = await loggedWords(client, sessionId)
    await eventually("all words", () => Object.keys(wordsOf(next.updates)).length === Object.keys(logged).length)
    assert.deepStrictEqual(wordsOf(next.updates), logged)
    assert.strictEqual((await prompt(next, sessionId, script("On.", { say: "Here I am." }))).stopReason, "end_turn")
    await eventually("the words after it", () => saidIn(next.updates).includes("Here I am."))
    next.close()
  },
  120_000
)
