import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { works } from "./Working.js"

const place = placeForEachTest()

it("an agent whose record names the paths of a sandbox is refused in words where there is none, and goes on where there is one", async () => {
  const env = { REINS_CACHE_DIR: cacheWithSmallAgent(place.directory), REINS_EXECUTOR: "bubblewrap,local" }
  const server = await startServer({ dataDir: place.dataDir, env })
  const caller = await newCaller(server, place.dataDir, place.gateway)
  const client = caller.at(server)
  const session_id = await caller.newSession(client)
  await works(caller, server, session_id, "The word is heliotrope.", "echo kept > kept.txt")

  const activate = async (backend: "bubblewrap" | "local") => {
    const released = await client.sessions.releaseExecutor({ session_id })
    await client.jobs.wait({ job_id: released.operation.job_id })
    const { operation } = await client.sessions.activateExecutor({ session_id, backend })
    return client.jobs.wait({ job_id: operation.job_id })
  }
  await activate("local")
  const { turn_id = "" } = await client.messages.send({ session_id, content: script("What was it?", { say: "No." }) })
  const { reason, reason_message, state } = await client.turns.wait({ turn_id })
  assert.deepStrictEqual([state, reason], ["failed", "executor_unavailable"])
  assert.match(
    reason_message ?? "",
    /under the paths of a sandbox, which the executor "local" cannot give it\. Release the executor and activate the session in a sandbox again/
  )
  // The advice of the words helps.
  await activate("bubblewrap")
  await works(caller, server, session_id, "What was the word?", "true")
  assert.include(JSON.stringify(place.gateway.requests.at(-1)?.messages), "heliotrope")
})
