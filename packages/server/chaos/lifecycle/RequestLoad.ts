import { randomUUID } from "node:crypto"
import { Agent, request } from "node:http"

export interface Call {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: unknown
}

/** The outcome of one request. */
export interface Sent {
  readonly call: Call
  /** True when its connection had served another before. */
  readonly reused: boolean
  /** When the last byte of it was handed to the system; undefined when that never came to be. */
  readonly sentAt: number | undefined
  readonly status: number | undefined
  /** The whole answer, or what came of it. */
  readonly text: string
  readonly connection: string | undefined
  /** The reason for which there is no answer, or only a part of one. */
  readonly failure: string | undefined
}

/** Sends one request and tells how it went, whatever that is. */
export const call = (url: string, apiKey: string, call: Call, agent: Agent | undefined): Promise<Sent> =>
  new Promise((resolve) => {
    let sentAt: number | undefined
    let text = ""
    const body = call.body === undefined ? undefined : JSON.stringify(call.body)
    const client = request(new URL(call.path, url), {
      method: call.method,
      agent: agent ?? false,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(agent === undefined && { connection: "close" }),
        ...(body !== undefined && {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          "idempotency-key": randomUUID()
        })
      }
    })
    const end = (failure: string | undefined, status?: number, connection?: string) =>
      resolve({ call, reused: client.reusedSocket, sentAt, status, text, connection, failure })
    client.once("finish", () => {
      sentAt = performance.now()
    })
    client.once("error", (error) => end("code" in error ? String(error.code) : error.message))
    client.once("response", (response) => {
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        text += chunk
      })
      const { connection } = response.headers
      response.once("error", () => end("cut off", response.statusCode, connection))
      response.once("end", () => end(undefined, response.statusCode, connection))
    })
    client.end(body)
  })

/** As many as a machine that is slow today may leave unanswered: the load is what the server can take. */
const maxInFlight = 40

/** Sends up to so many requests a second, in turn over kept and over fresh connections, until it is stopped. Gives all that was sent. */
export const startLoad = (
  url: string,
  apiKey: string,
  perSecond: number,
  next: (index: number) => Call
): { readonly sent: () => number; readonly stop: () => Promise<ReadonlyArray<Sent>> } => {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  const calls: Array<Promise<Sent>> = []
  let inFlight = 0
  const timer = setInterval(() => {
    const room = Math.min(maxInFlight - inFlight, perSecond / 100)
    for (let sent = 0; sent < room; sent++) {
      const index = calls.length
      inFlight++
      const answer = call(url, apiKey, next(index), index % 2 === 0 ? agent : undefined)
      calls.push(answer)
      void answer.then(() => inFlight--)
    }
  }, 10)
  return {
    sent: () => calls.length,
    stop: async () => {
      clearInterval(timer)
      const sent = await Promise.all(calls)
      agent.destroy()
      return sent
    }
  }
}
