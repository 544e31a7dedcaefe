import {
  type AgentApp,
  type AgentConnection,
  type AgentContext,
  agent,
  type ClientCapabilities,
  type InitializeResponse,
  methods,
  RequestError,
  type Stream
} from "@agentclientprotocol/sdk"
import type { Reins, Session, SessionInput } from "@reins/client"
import { deleteSession } from "./Deletion.js"
import type { EditorMachine } from "./EditorMachine.js"
import { type Editor, OpenSession } from "./OpenSession.js"
import { invalid, refusing, takenBack } from "./Refusals.js"
import { type ModeName, modeOption, modes, Settings } from "./Settings.js"
import { spentOn } from "./UsageUpdates.js"

/** The server and the caller, as far as they are known before an editor asks for a session. */
export interface Caller {
  readonly reins: Reins
  readonly workspaceId: string
  /** The address of the console, which questions that an editor cannot show lead to. */
  readonly consoleUrl: string
}

/** What the agents of a new session may do by themselves, where the door was told. */
export type Permissions = Pick<SessionInput, "permissions">

/** A folder of the editor, and what the editor says of it beyond the protocol. */
export interface Folder {
  readonly path: string
  readonly meta: Readonly<Record<string, unknown>> | null | undefined
}

type SessionFilter = Pick<Parameters<Reins["sessions"]["list"]>[0], "project_id" | "repository_url">

export interface DoorOptions {
  readonly version: string
  /** Asked for once, with the first request that needs the server. Fails with the sentence for the person. */
  readonly caller: () => Promise<Caller>
  /** Makes a session for a folder, on its repository or project. Fails with the sentence for the person. */
  readonly begin: (caller: Caller, folder: Folder, permissions: Permissions) => Promise<Session>
  /** The sessions of a folder, as filters of their list; undefined for none. Without a folder they are those of the workspace. */
  readonly sessionsOf: (folder: Partial<Folder>) => SessionFilter | undefined
  /** The machine of the editor, where the door runs on it. */
  readonly machine: EditorMachine | undefined
  readonly mode: ModeName | undefined
  /** Cancels the turns of an editor that closes. They go on otherwise. */
  readonly cancelsOnClose: boolean
  /** Writes a line for people, outside of the protocol. */
  readonly tell: (line: string) => void
}

export interface AcpDoor {
  /** The end of the connection, with all that follows from it. */
  readonly closed: Promise<void>
}

/** Serves an editor that speaks the Agent Client Protocol. Its sessions are sessions of Reins, and go on when it closes. */
export const openDoor = (options: DoorOptions, stream: Stream): AcpDoor => {
  const editors = new Door(options)
  const connection = editors.app().connect(stream)
  return { closed: connection.closed.then(editors.close) }
}

/** The door for one connection that a server makes by itself. */
export const doorFor = (options: DoorOptions): AgentApp => {
  const editors = new Door(options)
  return editors.app().onConnect(({ closed }) => void closed.then(editors.close))
}

class Door {
  private readonly open = new Map<string, OpenSession>()
  private capabilities: ClientCapabilities = {}
  private connection: AgentConnection["signal"] | undefined
  private asked: Promise<Caller> | undefined

  constructor(private readonly options: DoorOptions) {}

  readonly app = (): AgentApp => this.working(this.opening(agent({ name: "reins" })))

  /** The requests that begin, open and list sessions. */
  private opening(app: AgentApp): AgentApp {
    const { agent: asked } = methods
    return app
      .onConnect(({ signal }) => {
        this.connection = signal
      })
      .onRequest(asked.initialize, ({ params }) => this.initialize(params.clientCapabilities ?? {}))
      .onRequest(asked.authenticate, () => ({}))
      .onRequest(
        asked.session.new,
        refusing(async ({ client, params }) => {
          this.tellOfServers(params.mcpServers)
          const session = await this.begin({ path: params.cwd, meta: params._meta })
          const opened = await this.enter(session, this.editor(client, params.cwd), 0)
          // Editors drop updates that come before the answer.
          setImmediate(() => opened.follow(session.event_watermark))
          return { sessionId: session.id, ...shown(opened) }
        })
      )
      .onRequest(
        asked.session.load,
        refusing(async ({ client, params, signal }) => {
          this.tellOfServers(params.mcpServers)
          const session = await this.session(params.sessionId)
          const opened = await this.enter(session, this.editor(client, params.cwd), 0)
          const leave = () => this.forget(opened)
          if (signal.aborted) leave()
          else signal.addEventListener("abort", leave, { once: true })
          const goOn = await opened.replay(session.event_watermark)
          signal.removeEventListener("abort", leave)
          setImmediate(goOn)
          return shown(opened)
        })
      )
      .onRequest(
        asked.session.resume,
        refusing(async ({ client, params }) => {
          this.tellOfServers(params.mcpServers ?? [])
          const session = await this.session(params.sessionId)
          const { reins } = await this.caller()
          const opened = await this.enter(session, this.editor(client, params.cwd), await spentOn(reins, session.id))
          setImmediate(() => {
            opened.follow(session.event_watermark)
            void opened.askPending().catch((error: unknown) => this.options.tell(String(error)))
          })
          return shown(opened)
        })
      )
      .onRequest(
        asked.session.list,
        refusing(({ params, signal }) =>
          this.list({ ...(params.cwd != null && { path: params.cwd }), meta: params._meta }, params.cursor, signal)
        )
      )
  }

  /** The requests about a session that is open, and its deletion. */
  private working(app: AgentApp): AgentApp {
    const { agent: asked } = methods
    return app
      .onRequest(
        asked.session.close,
        refusing(async ({ params }) => {
          const opened = this.opened(params.sessionId)
          await opened.cancel()
          this.forget(opened)
          return {}
        })
      )
      .onRequest(
        asked.session.delete,
        refusing(async ({ client, params, signal }) => {
          const { reins } = await this.caller()
          await deleteSession({ reins, client, capabilities: this.capabilities, signal }, params.sessionId)
          const opened = this.open.get(params.sessionId)
          if (opened !== undefined) this.forget(opened)
          return {}
        })
      )
      .onRequest(
        asked.session.setMode,
        refusing(async ({ params }) => {
          const opened = this.opened(params.sessionId)
          if (!(await opened.settings.setMode(params.modeId))) throw invalid(`There is no mode "${params.modeId}".`)
          opened.tellOptions()
          return {}
        })
      )
      .onRequest(
        asked.session.setConfigOption,
        refusing(async ({ params }) => {
          const opened = this.opened(params.sessionId)
          const refused = await opened.settings.setOption(params.configId, params.value)
          if (refused !== undefined) throw invalid(refused)
          if (params.configId === modeOption) opened.tellMode()
          return { configOptions: opened.settings.options() }
        })
      )
      .onRequest(
        asked.session.prompt,
        refusing(async ({ params, signal }) => {
          const cancelling = this.cancelling(signal)
          const answer = await this.opened(params.sessionId).prompt(params.prompt, cancelling)
          // A prompt that was taken back itself has no answer. That of a session/cancel has one.
          if (answer.stopReason === "cancelled" && cancelling.aborted) throw takenBack()
          return answer
        })
      )
      .onNotification(asked.session.cancel, async ({ params }) => this.open.get(params.sessionId)?.cancel())
  }

  readonly close = async (): Promise<void> => {
    const sessions = [...this.open.values()]
    if (this.options.cancelsOnClose) await Promise.all(sessions.map((session) => session.cancel()))
    for (const session of sessions) this.forget(session)
  }

  private initialize(capabilities: ClientCapabilities): InitializeResponse {
    this.capabilities = capabilities
    const login = {
      type: "terminal" as const,
      id: "init",
      name: "Set up Reins",
      description: "Runs `reins init`, which stores a key for a server",
      args: ["init"]
    }
    return {
      protocolVersion: 1,
      agentInfo: { name: "reins", title: "Reins", version: this.options.version },
      authMethods: this.options.machine !== undefined && capabilities.auth?.terminal === true ? [login] : [],
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: true, embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} }
      }
    }
  }

  private caller(): Promise<Caller> {
    this.asked ??= this.options.caller().catch((error: unknown) => {
      // A server that is away now may be there for the next request.
      this.asked = undefined
      throw error
    })
    return this.asked
  }

  private async session(session_id: string): Promise<Session> {
    const { reins } = await this.caller()
    return reins.sessions.get({ session_id })
  }

  private async begin(folder: Folder): Promise<Session> {
    const caller = await this.caller()
    const policy = this.options.mode === undefined ? undefined : modes[this.options.mode].policy
    return this.options.begin(caller, folder, policy === undefined ? {} : { permissions: policy })
  }

  /** Opens a session from an event before which its turns have cost so many dollars. */
  private async enter(session: Session, editor: Editor, spent: number | null): Promise<OpenSession> {
    const { consoleUrl, reins } = await this.caller()
    const takesBooleans = this.capabilities.session?.configOptions?.boolean != null
    const settings = await Settings.read(reins, session, takesBooleans)
    this.open.get(session.id)?.leave()
    const opened = new OpenSession(reins, { ...editor, consoleUrl }, session, settings, spent)
    this.open.set(session.id, opened)
    return opened
  }

  private editor(client: AgentContext, folder: string): Editor {
    return { client, capabilities: this.capabilities, folder, machine: this.options.machine }
  }

  private opened(sessionId: string): OpenSession {
    const session = this.open.get(sessionId)
    if (session === undefined)
      throw new RequestError(-32002, `The session ${sessionId} is not open here. Load it first.`)
    return session
  }

  private forget(session: OpenSession): void {
    session.leave()
    if (this.open.get(session.id) === session) this.open.delete(session.id)
  }

  private async list(folder: Partial<Folder>, cursor: string | null | undefined, signal: AbortSignal) {
    const { reins, workspaceId: workspace_id } = await this.caller()
    const filter = this.options.sessionsOf(folder)
    if (filter === undefined) return { sessions: [] }
    const page = { workspace_id, limit: 50, ...filter, ...(cursor != null && { cursor }) }
    const { items, next_cursor } = await reins.sessions.list(page, { signal })
    return {
      sessions: items.map(({ id, title, updated_at }) => ({
        sessionId: id,
        cwd: folder.path ?? (this.options.machine === undefined ? "/" : process.cwd()),
        title,
        updatedAt: updated_at
      })),
      ...(next_cursor !== null && { nextCursor: next_cursor })
    }
  }

  /** The protocol's package aborts a prompt for a cancel and for a connection that ends. Only the first is a cancel. */
  private cancelling(signal: AbortSignal): AbortSignal {
    const cancelled = new AbortController()
    const abort = () => {
      if (this.connection?.aborted !== true) cancelled.abort()
    }
    if (signal.aborted) abort()
    else signal.addEventListener("abort", abort, { once: true })
    return cancelled.signal
  }

  private tellOfServers(servers: ReadonlyArray<{ readonly name: string }>): void {
    if (servers.length > 0)
      this.options.tell(
        `The MCP servers of the editor are left out, because they would run on its machine: ${servers.map(({ name }) => name).join(", ")}.`
      )
  }
}

const shown = ({ settings }: OpenSession) => {
  const state = settings.modeState()
  return { ...(state !== undefined && { modes: state }), configOptions: settings.options() }
}
