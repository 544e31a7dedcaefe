import { once } from "node:events"
import { assert } from "vitest"
import { WebSocket } from "ws"

/** Opens a WebSocket of an editor at `/acp`, and checks that both sides hear each other. */
export const assertSocket = async (url: string, apiKey: string): Promise<void> => {
  const socket = new WebSocket(`${url.replace("http", "ws")}/acp`, { headers: { authorization: `Bearer ${apiKey}` } })
  try {
    await once(socket, "open")
    const answered = once(socket, "message")
    const params = { protocolVersion: 1, clientCapabilities: {} }
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }))
    const [data] = await answered
    assert.include(String(data), "protocolVersion")
  } finally {
    socket.terminate()
  }
}
