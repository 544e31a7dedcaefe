import { createMcpHandler } from "@modelcontextprotocol/server"
import { Reins } from "@reins/client"
import { serverFor } from "./McpDoor.js"

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
  /** Calls the API of this process for the client of the request. */
  readonly fetch: typeof globalThis.fetch
}

/** Gives the answer to whoever sends it. The request counts until that is done. */
export type HttpDoor = (asked: Asked, send: (answer: Response) => Promise<void>) => Promise<void>

/** Answers requests of the Model Context Protocol. Each stands alone, so a restart of the server loses no session of the protocol. */
export const httpDoor = ({ consoleUrl, onFault, release, stopping }: HttpDoorOptions): HttpDoor => {
  const running = new Map<string, number>()
  return async ({ fetch, isUnattended, keySpace, request, token }, send) => {
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

const tooMany = (): Response =>
  Response.json(
    { error: `More than ${mostAtOnce} requests at once. Wait for one of them.` },
    { status: 429, headers: { "retry-after": "1" } }
  )

/** The first workspace that the credentials reach. */
export const ownWorkspace = (reins: Reins): (() => Promise<string>) => {
  let asked: Promise<string> | undefined
  return () => {
    asked ??= reins.accounts.getMe().then(({ workspaces: [first] }) => {
      if (first === undefined) throw new TypeError("These credentials reach no workspace.")
      return first.id
    })
    return asked
  }
}
