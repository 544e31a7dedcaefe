import http, { type ClientRequest, type IncomingMessage } from "node:http"
import https from "node:https"
import { Readable } from "node:stream"
import { limitConnecting } from "../outbound/GuardedAgents.js"
import type { Outbound } from "../outbound/Outbound.js"

/** The bounds of one request. */
export interface FetchBounds {
  /** The longest answer, in bytes. */
  readonly maxBytes: number
  /** The longest time for a whole answer, in milliseconds. */
  readonly timeoutMs: number
  /** Hears that the stream of an answer has ended, and how. The library waits on where a stream ends without an answer. */
  readonly ended: (problem: Error | undefined) => void
}

/** A server gave no answer that can be used. The message says which server and why, and nothing of what was sent or answered. */
export class ServerUnusable extends Error {}

/**
 * A `fetch` that reaches only the hosts that `Outbound` reaches, each checked as it is connected. It follows no redirect, and an answer that is
 * too long or takes too long breaks off.
 */
export const guardedFetch =
  (outbound: Outbound["Type"], bounds: FetchBounds) =>
  async (given: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(given)
    const method = init.method ?? "GET"
    // A stream that the server may write to at any time is of no use here. Servers of 2025 may refuse it, so its absence is nothing new.
    if (method === "GET") return new Response(null, { status: 405 })
    const agents = outbound.agents({ keepAlive: false })
    const closed = () => {
      agents.http.destroy()
      agents.https.destroy()
    }
    try {
      const answer = await request(url, method, init, agents, bounds)
      answer.once("close", closed)
      return toResponse(url, answer, bounds)
    } catch (error) {
      closed()
      throw error
    }
  }

const request = (
  url: URL,
  method: string,
  { body, headers, signal }: RequestInit,
  agents: ReturnType<Outbound["Type"]["agents"]>,
  { timeoutMs }: FetchBounds
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const late = AbortSignal.timeout(timeoutMs)
    const options = {
      method,
      headers: { ...Object.fromEntries(new Headers(headers)), "accept-encoding": "identity" },
      signal: signal == null ? late : AbortSignal.any([signal, late])
    }
    let sent: ClientRequest
    try {
      sent =
        url.protocol === "https:"
          ? https.request(url, { ...options, agent: agents.https })
          : http.request(url, { ...options, agent: agents.http })
    } catch {
      // The error of Node may quote the header, so it is not passed on.
      return reject(
        new ServerUnusable(`${url.host} cannot be asked: a header has characters that headers cannot have.`)
      )
    }
    limitConnecting(sent, () => sent.destroy(new ServerUnusable(`${url.host} took too long to connect.`)))
    sent.on("error", (error) => reject(late.aborted ? tooLate(url, timeoutMs) : error))
    sent.once("response", resolve)
    sent.end(typeof body === "string" ? body : undefined)
  })

const tooLate = (url: URL, timeoutMs: number) =>
  new ServerUnusable(`${url.host} did not answer within ${timeoutMs / 1000} seconds.`)

const toResponse = (url: URL, answer: IncomingMessage, { ended, maxBytes }: FetchBounds): Response => {
  const status = answer.statusCode ?? 0
  const refuse = (what: string) => {
    answer.destroy()
    throw new ServerUnusable(`${url.host} ${what}`)
  }
  if (status >= 300 && status < 400) refuse(`answers with a redirect (${status}), which is not followed.`)
  if (status < 200 || status > 599) refuse(`answers with the status ${status}.`)
  const headers = new Headers()
  for (const name of ["content-type", "mcp-session-id", "mcp-protocol-version"]) {
    const value = answer.headers[name]
    if (typeof value === "string") headers.set(name, value)
  }
  if (status === 204 || status === 205) {
    answer.resume()
    return new Response(null, { status, headers })
  }
  let size = 0
  answer.on("data", (piece: Buffer) => {
    size += piece.length
    if (size > maxBytes)
      answer.destroy(
        new ServerUnusable(`${url.host} answers with more than ${maxBytes} bytes. Ask it for less at once.`)
      )
  })
  answer.pause()
  let problem: Error | undefined
  answer.on("error", (error) => {
    problem = error
  })
  answer.once("close", () => ended(problem))
  // Boundary: the types of Node and of the web name the same stream.
  return new Response(Readable.toWeb(answer) as unknown as ReadableStream, { status, headers })
}
