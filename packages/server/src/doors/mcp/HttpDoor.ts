import { createMcpHandler } from "@modelcontextprotocol/server"
import { Reins } from "@reins/client"
import { ownWorkspace } from "../OwnWorkspace.js"
import { serverFor, tools } from "./McpDoor.js"

/** The longest request, in bytes. */
const mostBytes = 1024 * 1024

/** The requests of one caller that are answered at once. */
const mostAtOnce = 20

export interface HttpDoorOptions {
  readonly release: string
  readonly consoleUrl: string
  readonly stopping: AbortSignal
  /** Takes the faults of the door, which no answer shows. */
  readonly onFault: (fault: Error) => void
}

/** A request, and whom it comes from. */
export interface Asked {
  readonly request: Request
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
  const running = new Map<string, number>()
  return async ({ challenge, fetch, granted, isUnattended, keySpace, request, token }, send) => {
    if (granted !== undefined && challenge !== undefined) {
      const lacking = await lackingScope(request, granted)
      if (lacking !== undefined) return send(needsMore(challenge(lacking, "insufficient_scope")))
    }
    const atOnce = running.get(keySpace) ?? 0
    if (atOnce >= mostAtOnce) return send(tooMany())
    running.set(keySpace, atOnce + 1)
    // The address is never resolved: the requests stay in this process.
    const reins = new Reins({ baseUrl: "http://reins.internal", apiKey: token, fetch, maxRetries: 1 })
    const caller = { reins, workspaceId: ownWorkspace(reins), keySpace, consoleUrl, isUnattended, stopping }
    const handler = createMcpHandler((context) => serverFor(caller, release, context), {
      maxRequestBodySize: mostBytes,
      onerror: onFault
    })
    try {
      await send(await handler.fetch(request))
    } finally {
      const left = (running.get(keySpace) ?? 1) - 1
      if (left === 0) running.delete(keySpace)
      else running.set(keySpace, left)
    }
  }
}

const scopes = ["read", "act", "write"]

/** The scopes that a call needs of its app, as one text, where the person has not given them. */
const lackingScope = async (request: Request, granted: ReadonlyArray<string>): Promise<string | undefined> => {
  const asked: unknown = await request
    .clone()
    .json()
    .catch(() => undefined)
  const needed = tools.find(({ name }) => name === toolOf(asked))?.scope
  return needed === undefined || granted.includes(needed)
    ? undefined
    : scopes.slice(0, scopes.indexOf(needed) + 1).join(" ")
}

const toolOf = (asked: unknown): unknown => {
  if (typeof asked !== "object" || asked === null || !("method" in asked) || asked.method !== "tools/call") return
  const params = "params" in asked ? asked.params : undefined
  return typeof params === "object" && params !== null && "name" in params ? params.name : undefined
}

const needsMore = (challenge: string): Response =>
  Response.json(
    { error: "insufficient_scope", error_description: "The person has not allowed this to the app." },
    { status: 403, headers: { "www-authenticate": challenge } }
  )

const tooMany = (): Response =>
  Response.json(
    { error: `More than ${mostAtOnce} requests at once. Wait for one of them.` },
    { status: 429, headers: { "retry-after": "1" } }
  )
