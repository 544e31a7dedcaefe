import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server"
import { Reins } from "@reins/client"
import { ownWorkspace } from "../OwnWorkspace.js"
import { asJson, takesStream } from "./Accepted.js"
import { serverFor, tools } from "./McpDoor.js"
import { methodOf, readMessages, toolOf } from "./Messages.js"
import { Places } from "./Places.js"
import { lackOfTasks, scopeOfTask } from "./Tasks.js"
import type { Caller } from "./Tool.js"
import { Turnstile } from "./Turnstile.js"

/** The longest request, in bytes. */
const mostBytes = 1024 * 1024

/** The newest version of the protocol that has no envelope in each of its requests. */
const newestWithoutEnvelope = "2025-11-25"

export interface HttpDoorOptions {
  readonly release: string
  readonly consoleUrl: string
  readonly stopping: AbortSignal
  /** Takes the faults of the door, which no answer shows. */
  readonly onFault: (fault: Error) => void
}

/** A request, and whom it comes from. */
export interface Asked {
  readonly url: URL
  readonly headers: Headers
  readonly body: string
  /** Aborted when the client goes away. */
  readonly gone: AbortSignal
  readonly token: string
  /** Names the credentials, without their secret. */
  readonly keySpace: string
  readonly isUnattended: boolean
  /** The scopes of an app, which can ask its person for more; absent for other credentials. */
  readonly granted?: ReadonlyArray<string>
  /** The challenge that tells an app to ask for more. */
  readonly challenge?: (scope: string, error: "insufficient_scope") => string
  /** Calls the API of this process for the client of the request. */
  readonly fetch: typeof globalThis.fetch
}

/** Gives the answer to whoever sends it. The request counts until that is done. */
export type HttpDoor = (asked: Asked, send: (answer: Response) => Promise<void>) => Promise<void>

/** Answers requests of the Model Context Protocol. Each stands alone, so a restart of the server loses no session of the protocol. */
export const httpDoor = ({ consoleUrl, onFault, release, stopping }: HttpDoorOptions): HttpDoor => {
  const places = new Places()
  const turnstile = new Turnstile()
  const callers = new WeakMap<Request, Caller>()
  const handler = createMcpHandler(
    (context) => {
      const caller = context.requestInfo && callers.get(context.requestInfo)
      if (caller === undefined) throw new TypeError("a request of the protocol came from nobody")
      return serverFor(caller, release, context)
    },
    { maxRequestBodySize: mostBytes, onerror: onFault }
  )
  return async (asked, send) => {
    const { body, fetch, gone, headers, isUnattended, keySpace, token, url } = asked
    const message = messagesIn(body)
    if (message === undefined) return send(refusal(400, -32_700, "The body is no JSON."))
    const needsMore = lackOf(message, asked)
    if (needsMore !== undefined) return send(needsMore)
    const isStreamed = takesStream(headers.get("accept"))
    // The package refuses clients that take one form of an answer alone.
    headers.set("accept", "application/json, text/event-stream")
    if (isOfTomorrow(headers.get("mcp-protocol-version"))) headers.set("mcp-protocol-version", newestWithoutEnvelope)
    const request = new Request(url, { method: "POST", headers, body, signal: gone })
    if (await isOfLostSession(request, message))
      return send(refusal(404, -32_001, "This session is gone. Begin a new one with initialize."))
    const lacksTasks = lackOfTasks(message)
    if (lacksTasks !== undefined) return send(Response.json(lacksTasks, { status: 400 }))
    await turnstile.pass(keySpace)
    const leave = await places.enter(isLong(message) ? `${keySpace} long` : keySpace, body.length, gone)
    if (leave === undefined) return send(tooMany())
    try {
      // The address is never resolved: the requests stay in this process.
      const reins = new Reins({ baseUrl: "http://reins.internal", apiKey: token, fetch, maxRetries: 1 })
      callers.set(request, { reins, workspaceId: ownWorkspace(reins), keySpace, consoleUrl, isUnattended, stopping })
      const answer = await handler.fetch(request, { parsedBody: message })
      await send(isStreamed ? answer : await asJson(answer))
    } finally {
      leave()
    }
  }
}

const messagesIn = (body: string): unknown => {
  try {
    return readMessages(JSON.parse(body))
  } catch {
    return undefined
  }
}

/** Calls that last as long as somebody else takes. They keep no places of others. */
const long: ReadonlySet<unknown> = new Set(["wait", "deliver"])

const isLong = (message: unknown): boolean =>
  [message].flat().some((each) => long.has(toolOf(each)) || methodOf(each) === "subscriptions/listen")

/** True for a version that comes after those of this release. Its client learns from the answers what is spoken here. */
const isOfTomorrow = (version: string | null): boolean =>
  version !== null && /^\d{4}-\d{2}-\d{2}$/.test(version.trim()) && version.trim() > newestVersion

const newestVersion = "2026-07-28"

/** No session of the protocol begins here, so the id of one is of a server that is gone. Its client begins a new one by itself. */
const isOfLostSession = async (request: Request, message: unknown): Promise<boolean> =>
  request.headers.has("mcp-session-id") &&
  methodOf(message) !== "initialize" &&
  (await isLegacyRequest(request, message))

const scopes = ["read", "act", "write"]

/** The answer to an app that calls a tool, or asks of a task, what its person has not allowed. */
const lackOf = (message: unknown, { challenge, granted }: Asked): Response | undefined => {
  if (granted === undefined || challenge === undefined) return undefined
  const needed = tools.find(({ name }) => name === toolOf(message))?.scope ?? scopeOfTask(message)
  if (needed === undefined || granted.includes(needed)) return undefined
  const all = scopes.slice(0, scopes.indexOf(needed) + 1).join(" ")
  return Response.json(
    { error: "insufficient_scope", error_description: "The person has not allowed this to the app." },
    { status: 403, headers: { "www-authenticate": challenge(all, "insufficient_scope") } }
  )
}

const refusal = (status: number, code: number, message: string, headers: Readonly<Record<string, string>> = {}) =>
  Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status, headers })

const tooMany = (): Response =>
  refusal(429, -32_000, "Too many requests of this key at once. Wait for some of them.", { "retry-after": "1" })
