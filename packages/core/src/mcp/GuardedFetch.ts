import http, { type ClientRequest, type IncomingMessage } from "node:http"
import https from "node:https"
import { Readable } from "node:stream"
import type { RequestId } from "@modelcontextprotocol/client"
import { foreignJson } from "@reins/base/base/ForeignJson"
import type { Refused } from "@reins/base/base/RefusalTable"
import { limitConnecting } from "@reins/machine/outbound/GuardedAgents"
import type { Outbound } from "@reins/machine/outbound/Outbound"
import { foreignMessage, isRecord } from "./ForeignMessage.js"
import { refusedAnswer, wordsOfBody } from "./ServerRefusal.js"

/** The bounds of one request. */
export interface FetchBounds {
  /** The longest answer, in bytes. */
  readonly maxBytes: number
  /** The longest time for a whole answer, in milliseconds. */
  readonly timeoutMs: number
  /** Hears that the stream of an answer has ended, and how. The library waits on where a stream ends without an answer. */
  readonly ended: (problem: Error | undefined) => void
  /** Hears of each refusal, because the library tells its status alone. */
  readonly refused: (refusal: Refused) => void
}

/**
 * A server gave no answer that can be used. The message says which server and why, and nothing of what was sent. `hasAnswered` is true where it is a
 * server that answers, in another way than the protocol has it.
 */
export class ServerUnusable extends Error {
  constructor(
    message: string,
    readonly hasAnswered = false
  ) {
    super(message)
  }
}

/** The most redirects that are followed. */
const mostHops = 3

/** The most bytes of a refusal that are read. */
const refusalBytes = 64 * 1024

/** One request, as it is sent. */
interface Asking {
  readonly method: string
  readonly init: RequestInit
  /** The number of its message; undefined for one that has no answer. */
  readonly id: RequestId | undefined
  readonly late: AbortSignal
  readonly bounds: FetchBounds
}

/**
 * A `fetch` that reaches only the hosts that `Outbound` reaches, each checked as it is connected. It follows redirects that keep the method, to the
 * same origin alone. An answer that is too long or takes too long breaks off.
 */
export const guardedFetch =
  (outbound: Outbound["Type"], bounds: FetchBounds) =>
  async (given: string | URL, init: RequestInit = {}): Promise<Response> => {
    const method = init.method ?? "GET"
    // A stream that the server may write to at any time is of no use here. Servers of 2025 may refuse it, so its absence is nothing new.
    if (method === "GET") return new Response(null, { status: 405 })
    const agents = outbound.agents({ keepAlive: false })
    const closed = () => {
      agents.http.destroy()
      agents.https.destroy()
    }
    const asking = { method, init, id: idOf(init), late: AbortSignal.timeout(bounds.timeoutMs), bounds }
    try {
      let url = new URL(given)
      let answer = await request(url, asking, agents)
      for (let hops = 0, next = nextOf(url, answer); next !== undefined && hops < mostHops; hops++) {
        answer.destroy()
        url = next
        answer = await request(url, asking, agents)
        next = nextOf(url, answer)
      }
      answer.once("close", closed)
      return await toResponse(url, answer, asking)
    } catch (error) {
      closed()
      throw error
    }
  }

const idOf = ({ body }: RequestInit): RequestId | undefined => {
  const sent = typeof body === "string" ? foreignJson(body) : undefined
  if (!isRecord(sent) || !("method" in sent)) return undefined
  return typeof sent["id"] === "number" || typeof sent["id"] === "string" ? sent["id"] : undefined
}

const request = (
  url: URL,
  { bounds, init: { body, headers, signal }, late, method }: Asking,
  agents: ReturnType<Outbound["Type"]["agents"]>
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
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
    sent.on("error", (error) => reject(late.aborted ? tooLate(url, bounds) : error))
    sent.once("response", resolve)
    sent.end(typeof body === "string" ? body : undefined)
  })

const tooLate = (url: URL, { timeoutMs }: FetchBounds) =>
  new ServerUnusable(`${url.host} did not answer within ${timeoutMs / 1000} seconds.`)

const placeOf = (url: URL, { headers: { location } }: IncomingMessage): URL | undefined =>
  location !== undefined && URL.canParse(location, url.href) ? new URL(location, url) : undefined

/** The place that an answer leads to, where it may be followed: the same request is sent there, with its key. */
const nextOf = (url: URL, answer: IncomingMessage): URL | undefined => {
  const place = placeOf(url, answer)
  const keepsMethod = answer.statusCode === 307 || answer.statusCode === 308
  return keepsMethod && place?.origin === url.origin ? place : undefined
}

const redirected = (url: URL, answer: IncomingMessage): ServerUnusable => {
  const place = placeOf(url, answer)
  const to = place === undefined ? "" : ` It leads to ${place.origin}${place.pathname}.`
  return new ServerUnusable(`${url.host} answers with a redirect (${answer.statusCode}), which is not followed.${to}`)
}

const toResponse = async (url: URL, answer: IncomingMessage, asking: Asking): Promise<Response> => {
  const status = answer.statusCode ?? 0
  const refuse = (error: ServerUnusable) => {
    answer.destroy()
    return error
  }
  if (status >= 300 && status < 400) throw refuse(redirected(url, answer))
  if (status < 200 || status > 599) throw refuse(new ServerUnusable(`${url.host} answers with the status ${status}.`))
  const headers = new Headers()
  for (const name of ["content-type", "mcp-session-id", "mcp-protocol-version"]) {
    const value = answer.headers[name]
    if (typeof value === "string") headers.set(name, value)
  }
  if (status >= 400) {
    const text = await textOf(url, answer, asking, { most: refusalBytes, isCut: true })
    asking.bounds.refused(refusedAnswer(status, answer.headers, text))
    return new Response(text, { status, headers })
  }
  if (asking.id === undefined) {
    // There is nothing to read in the answer to a notice.
    answer.destroy()
    return new Response(null, { status: 202, headers })
  }
  if (/^text\/event-stream\b/i.test(headers.get("content-type") ?? "")) return streamed(url, answer, asking, headers)
  const text = await textOf(url, answer, asking, { most: asking.bounds.maxBytes, isCut: false })
  if (!headers.has("content-type") && /^(?:event|data|id|retry)?:/.test(text)) {
    headers.set("content-type", "text/event-stream")
    return new Response(text, { headers })
  }
  headers.set("content-type", "application/json")
  return new Response(JSON.stringify(readBody(url, status, text, asking.id)), { headers })
}

/** The message of a body in JSON. Some servers call it text, and some call it nothing. */
const readBody = (url: URL, status: number, text: string, id: RequestId) => {
  const unusable = (what: string) => new ServerUnusable(`${url.host} answers with ${what}.`, true)
  if (text.trim() === "") throw unusable(`nothing (${status})`)
  const value = foreignJson(text)
  if (value === undefined) {
    const words = wordsOfBody(text)
    throw unusable(/^\s*</.test(text) ? `a page${words === "" ? "" : ` (${JSON.stringify(words)})`}` : "no JSON")
  }
  // An answer to several messages has that of the one.
  const messages = [value].flat().map((each) => foreignMessage(each, Array.isArray(value) ? undefined : id))
  const message = messages.find((found) => found !== undefined && "id" in found && !("method" in found))
  if (message === undefined) throw unusable("JSON that is no message of the protocol")
  return message
}

interface Reading {
  readonly most: number
  /** True where what is longer is cut, and false where it breaks off. */
  readonly isCut: boolean
}

const tooLong = (url: URL, most: number) =>
  new ServerUnusable(`${url.host} answers with more than ${most} bytes. Ask it for less at once.`)

const textOf = async (
  url: URL,
  answer: IncomingMessage,
  { bounds, late }: Asking,
  { isCut, most }: Reading
): Promise<string> => {
  const pieces: Array<Buffer> = []
  let size = 0
  try {
    for await (const piece of answer) {
      pieces.push(piece)
      size += piece.length
      if (size > most) {
        answer.destroy()
        if (isCut) break
        throw tooLong(url, most)
      }
    }
  } catch (error) {
    if (error instanceof ServerUnusable) throw error
    if (late.aborted) throw tooLate(url, bounds)
    throw new ServerUnusable(`${url.host} broke off its answer.`)
  }
  return Buffer.concat(pieces).subarray(0, most).toString("utf8")
}

const streamed = (
  url: URL,
  answer: IncomingMessage,
  { bounds: { ended, maxBytes } }: Asking,
  headers: Headers
): Response => {
  let size = 0
  answer.on("data", (piece: Buffer) => {
    size += piece.length
    if (size > maxBytes) answer.destroy(tooLong(url, maxBytes))
  })
  answer.pause()
  let problem: Error | undefined
  answer.on("error", (error) => {
    problem = error
  })
  answer.once("close", () => ended(problem))
  // Boundary: the types of Node and of the web name the same stream.
  return new Response(Readable.toWeb(answer) as unknown as ReadableStream, { headers })
}
