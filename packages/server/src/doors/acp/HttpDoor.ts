import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Reins, type Session } from "@reins/client"
import { type WebSocket, WebSocketServer } from "ws"
import { ownWorkspace } from "../OwnWorkspace.js"
import { type Caller, type DoorOptions, doorFor, type Folder, type Permissions } from "./AcpDoor.js"
import { connectionHeader, HttpConnections } from "./HttpConnections.js"
import { invalid } from "./Refusals.js"

export interface HttpDoorOptions {
  readonly version: string
  /** The address of the console, as people open it. */
  readonly consoleUrl: string
  /** False on one of several machines, each of which has connections of its own. */
  readonly isAlone: boolean
  /** The longest message of an editor, in bytes. */
  readonly mostBytes: number
  /** Takes a line that no editor is shown. */
  readonly tell: (line: string) => void
}

/** The caller of a request. */
export interface Visitor {
  /** Names the credentials, without their secret. */
  readonly keySpace: string
  readonly token: string
  /** Calls the API of this process for the client of the request. */
  readonly fetch: typeof globalThis.fetch
}

/** An offer of a WebSocket. */
export interface OfferedSocket {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly take: () => void
}

/** The time between two beats of a WebSocket, in milliseconds. An editor that has not answered one by the next is gone. */
const beatMs = 30_000

/** Serves editors that reach the service without a program of ours. Their sessions are sessions of Reins, and outlive each connection. */
export class AcpHttpDoor {
  private readonly callers = new Map<string, HttpConnections>()
  private readonly sockets: WebSocketServer
  private isClosed = false

  constructor(private readonly options: HttpDoorOptions) {
    this.sockets = new WebSocketServer({ noServer: true, maxPayload: options.mostBytes, perMessageDeflate: false })
  }

  /** Answers a request of the protocol, and hands the answer to who sends it. */
  readonly serve = async (visitor: Visitor, request: Request, send: (answer: Response) => Promise<void>) => {
    if (!this.options.isAlone) return send(onlySockets())
    const id = request.headers.get(connectionHeader)
    if (id === null) return this.begin(visitor, request, send)
    const caller = this.callers.get(visitor.keySpace)
    const held = caller?.use(id)
    if (caller === undefined || held === undefined) return send(unknownConnection())
    try {
      await send(await caller.server.handleRequest(request))
    } finally {
      held.done()
      if (request.method === "DELETE") held.end()
    }
  }

  /** Takes a connection as a WebSocket. Gives the status for the log: 101, or that of the refusal. */
  readonly upgrade = (visitor: Visitor, { head, request, socket, take }: OfferedSocket): number => {
    if (this.isClosed) return 503
    const caller = this.callerOf(visitor)
    const held = caller.open()
    if (held === undefined) return 429
    const prepared = caller.server.prepareWebSocketUpgrade({ createAgent: () => this.agentFor(visitor) })
    socket.once("close", () => {
      prepared.reject()
      held.end()
    })
    take()
    this.sockets.handleUpgrade(request, socket, head, (accepted) => {
      keepAlive(accepted)
      prepared.accept(accepted)
    })
    return 101
  }

  /** Ends all connections. Their sessions go on. */
  readonly close = async (): Promise<void> => {
    this.isClosed = true
    await Promise.all([...this.callers.values()].map(({ server }) => server.close()))
  }

  private async begin(visitor: Visitor, request: Request, send: (answer: Response) => Promise<void>): Promise<void> {
    const caller = this.callerOf(visitor)
    const held = this.isClosed ? undefined : caller.open()
    if (held === undefined) return send(tooMany())
    try {
      const answer = await caller.server.handleRequest(request, { createAgent: () => this.agentFor(visitor) })
      const id = answer.headers.get(connectionHeader)
      if (id !== null) held.name(id)
      await send(answer)
    } finally {
      held.done()
    }
  }

  private callerOf({ keySpace }: Visitor): HttpConnections {
    const known = this.callers.get(keySpace)
    if (known !== undefined) return known
    const caller = new HttpConnections(() => this.callers.delete(keySpace))
    this.callers.set(keySpace, caller)
    return caller
  }

  private agentFor({ fetch, token }: Visitor) {
    // The address is never resolved: the requests stay in this process.
    const reins = new Reins({ baseUrl: "http://reins.internal", apiKey: token, fetch, maxRetries: 1 })
    const workspace = ownWorkspace(reins)
    const { consoleUrl, tell, version } = this.options
    return doorFor({
      ...elsewhere,
      version,
      tell,
      caller: async () => ({ reins, consoleUrl, workspaceId: await workspace() })
    })
  }
}

/** The project that an editor names, in `_meta.reins.project_id`. */
const projectIn = ({ meta }: Partial<Folder>): string | undefined => {
  const own = meta?.["reins"]
  const id = typeof own === "object" && own !== null && "project_id" in own ? own.project_id : undefined
  return typeof id === "string" ? id : undefined
}

const begin = async ({ reins, workspaceId }: Caller, folder: Folder, permissions: Permissions): Promise<Session> => {
  const project_id = projectIn(folder)
  if (project_id !== undefined) {
    const { workspace_id } = await reins.projects.get({ project_id })
    return reins.sessions.create({ workspace_id, project_id, ...permissions })
  }
  if (folder.path === "/") return reins.sessions.create({ workspace_id: workspaceId, ...permissions })
  throw invalid(
    `The server cannot see ${folder.path}, which is on another machine. Name a project in _meta.reins.project_id, or open "/" for a session without files.`
  )
}

/** The settings of a door whose editor is on another machine, so that its folder is a name and nothing else. */
const elsewhere = {
  begin,
  sessionsOf: (folder) => {
    const project_id = projectIn(folder)
    if (project_id !== undefined) return { project_id }
    return folder.path === undefined || folder.path === "/" ? {} : undefined
  },
  machine: undefined,
  mode: undefined,
  cancelsOnClose: false
} satisfies Partial<DoorOptions>

/** Ends a connection whose other end has gone without a word. */
const keepAlive = (socket: WebSocket): void => {
  let isThere = true
  const beat = setInterval(() => {
    if (!isThere) return socket.terminate()
    isThere = false
    socket.ping()
  }, beatMs).unref()
  socket.on("pong", () => {
    isThere = true
  })
  socket.once("close", () => clearInterval(beat))
}

const refused = (status: number, error: string, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ error }, { status, headers })

const tooMany = () =>
  refused(429, "This key has all the connections that it may have. Close one.", { "retry-after": "5" })
const unknownConnection = () =>
  refused(404, "There is no such connection. Begin with initialize, and load the session.")
const onlySockets = () =>
  refused(426, "Several machines serve this address. Connect with a WebSocket.", { upgrade: "websocket" })
