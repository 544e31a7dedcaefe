import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** A call of Slack's Web API. */
export interface SlackCall {
  readonly method: string
  readonly channel: string
  readonly text: string
  readonly thread_ts?: string
  readonly ts?: string
  readonly user?: string
  readonly blocks?: ReadonlyArray<{
    readonly type: string
    readonly text?: { readonly text: string; readonly type: string }
    readonly elements?: ReadonlyArray<{ readonly action_id: string; readonly value: string; readonly text: object }>
  }>
}

export const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5"
const token = "xoxb-canary-of-a-token"

const methods = ["chat.postMessage", "chat.update", "chat.postEphemeral"]

/** The parts of Slack that the bot uses, as its documentation says: the Web API, and signed events and clicks. */
export const startSlack = async () => {
  const calls: Array<SlackCall> = []
  const slow: Array<number> = []
  let posted = 0
  const answer = (method: string, authorization: string | undefined, body: string) => {
    if (authorization !== `Bearer ${token}`) return { ok: false, error: "invalid_auth" }
    if (!methods.includes(method)) return { ok: false, error: "unknown_method" }
    calls.push({ ...JSON.parse(body), method })
    posted += 1
    return { ok: true, ts: `1700000000.${String(posted).padStart(6, "0")}` }
  }
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const pause = slow.shift()
    if (pause !== undefined) {
      response.writeHead(429, { "retry-after": String(pause) }).end()
      return
    }
    const said = answer((request.url ?? "").slice(1), request.headers.authorization, Buffer.concat(chunks).toString())
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(said))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  // Boundary: a server that listens on a port has an address with one.
  const { port } = server.address() as AddressInfo

  const signed = (body: string, timestamp: number, secret: string) => ({
    "x-slack-request-timestamp": String(timestamp),
    "x-slack-signature": `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex")}`
  })
  const nowSeconds = () => Math.floor(Date.now() / 1000)
  const send = async (
    url: string,
    body: string,
    { age = 0, secret = signingSecret, contentType = "application/json" } = {}
  ) => {
    const headers = { ...signed(body, nowSeconds() - age, secret), "content-type": contentType }
    const response = await fetch(url, { method: "POST", headers, body })
    return { status: response.status, text: await response.text() }
  }
  return {
    calls,
    token,
    url: `http://127.0.0.1:${port}`,
    /** Answers the next calls with 429. */
    limit: (...seconds: ReadonlyArray<number>) => void slow.push(...seconds),
    send,
    event: (url: string, event_id: string, event: object) =>
      send(url, JSON.stringify({ type: "event_callback", team_id: "T1", event_id, event })),
    click: (url: string, value: string, { ts = "", user = "U1", text = "" } = {}) => {
      const message = { ts, text, thread_ts: "1.1" }
      const actions = [{ action_id: "answer-0", type: "button", value }]
      const payload = { type: "block_actions", user: { id: user }, channel: { id: "C1" }, message, actions }
      const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
      return send(url, body, { contentType: "application/x-www-form-urlencoded" })
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
