import type { Caller } from "@reins/testing/process/Caller"
import type { ServerProcess } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert } from "vitest"

/** A turn that runs a command in the workspace, and has succeeded. */
export const works = async (caller: Caller, server: ServerProcess, session_id: string, text: string, cmd: string) => {
  const client = caller.at(server)
  const content = script(text, { tool: "bash", cmd }, { say: "Done." })
  const { turn_id = "" } = await client.messages.send({ session_id, content })
  const turn = await client.turns.wait({ turn_id })
  assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
  return turn_id
}

/** A file of a session as a server gives it. */
export const read = async (caller: Caller, server: ServerProcess, session_id: string, path: string) => {
  const answer = await fetch(
    `${server.url}/api/sessions/${session_id}/files/content?path=${encodeURIComponent(path)}`,
    {
      headers: { authorization: `Bearer ${caller.apiKey}` }
    }
  )
  return { status: answer.status, text: await answer.text() }
}
