import { setImmediate } from "node:timers/promises"
import { methods } from "@agentclientprotocol/sdk"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { startServer } from "@reins/testing/process/ServerProcess"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, it } from "vitest"
import { makeProject } from "../cli/Cli.js"
import { endEditors, initialize, openEditor, saidIn, toolsOf, wordsOf } from "./Editor.js"

const place = placeForEachTest()
afterAll(endEditors)

const { session } = methods.agent

it("an editor outlives a killed server: its prompt ends with the reason, and the next one works", async () => {
  const { dataDir, directory } = place
  const port = String(await steadyPort())
  const env = { REINS_CACHE_DIR: cacheWithSmallAgent(directory), REINS_ALLOW_LOCAL_REPOSITORIES: "true" }
  const start = () => startServer({ dataDir, env, args: ["--port", port] })
  const first = await start()
  const caller = await newCaller(first, dataDir, place.gateway)
  const project = makeProject(directory)
  const editor = await openEditor({
    cwd: project.folder,
    env: { REINS_URL: first.url, REINS_API_KEY: caller.apiKey, HOME: directory }
  })
  await initialize(editor)
  const { sessionId } = await editor.agent.request(session.new, { cwd: project.folder, mcpServers: [] })
  const prompt = (text: string) => editor.agent.request(session.prompt, { sessionId, prompt: [{ type: "text", text }] })
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
  const { items } = await client.messages.list({ session_id: sessionId })
  const logged = items.flatMap(({ id, parts, role }) => {
    const words = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("")
    return role === "assistant" && words !== "" ? [[id, words]] : []
  })
  assert.deepStrictEqual(wordsOf(editor.updates), Object.fromEntries(logged))
  await editor.close()
}, 120_000)
