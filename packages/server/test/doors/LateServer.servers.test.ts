import { newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { startServer } from "@reins/testing/process/ServerProcess"
import { afterAll, assert, it } from "vitest"
import { endAssistants, openAssistant, overStdio } from "./Assistant.js"

const place = placeForEachTest()
afterAll(endAssistants)

it("an assistant that starts before the server has its tools, is told, and calls them once the server is up", async () => {
  const { dataDir, directory } = place
  const port = String(await steadyPort())
  const start = () => startServer({ dataDir, args: ["--port", port] })
  const first = await start()
  const { apiKey } = await newCaller(first, dataDir, place.gateway)
  first.kill("SIGTERM")
  await first.ended
  const env = { REINS_URL: first.url, REINS_API_KEY: apiKey, HOME: directory }
  const assistant = await openAssistant(overStdio({ cwd: directory, env }), { era: "2025" })
  assert.isAbove((await assistant.client.listTools()).tools.length, 5)
  assert.include(await assistant.refused("list_sessions"), first.url)
  const second = await start()
  assert.deepStrictEqual((await assistant.call("list_sessions")).sessions, [])
  second.kill("SIGTERM")
  await second.ended
})
