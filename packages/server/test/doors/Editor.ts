import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { Readable, Writable } from "node:stream"
import { setImmediate } from "node:timers/promises"
import {
  type ClientCapabilities,
  type ClientConnection,
  type CreateElicitationRequest,
  client,
  type ElicitationPropertySchema,
  type ElicitationSchema,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate
} from "@agentclientprotocol/sdk"
import { published } from "@reins/testing/process/ServerProcess"

interface At {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

export interface EditorOptions {
  readonly capabilities?: ClientCapabilities
  readonly args?: ReadonlyArray<string>
  /** Answers what is asked. The signal is aborted when the question is withdrawn. */
  readonly permission?: (
    asked: RequestPermissionRequest,
    withdrawn: AbortSignal
  ) => RequestPermissionResponse | Promise<RequestPermissionResponse>
  /** Fills in a form, of which it gets the fields. */
  readonly form?: (properties: Readonly<Record<string, ElicitationPropertySchema>>) => {
    readonly action: "accept" | "decline" | "cancel"
    readonly content?: Record<string, string>
  }
}

/** An editor on the protocol's own package, with `reins acp` as a process of its own. */
export interface Editor {
  readonly agent: ClientConnection["agent"]
  readonly updates: Array<SessionUpdate>
  /** Those of one session. */
  readonly updatesOf: (sessionId: string) => Array<SessionUpdate>
  readonly child: ChildProcess
  readonly errors: () => string
  /** Closes the editor as a window does, and waits for the end of the process. */
  readonly close: () => Promise<number | null>
}

const running = new Set<ChildProcess>()

type FormRequest = CreateElicitationRequest & { readonly requestedSchema: ElicitationSchema }
const isForm = (asked: CreateElicitationRequest): asked is FormRequest => asked.mode === "form"

export const openEditor = async (at: At, options: EditorOptions = {}): Promise<Editor> => {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("REINS_"))
  const child = spawn(process.execPath, [published, "acp", ...(options.args ?? [])], {
    cwd: at.cwd,
    env: { ...Object.fromEntries(inherited), ...at.env },
    stdio: ["pipe", "pipe", "pipe"]
  })
  running.add(child)
  const ended = once(child, "exit").then(() => running.delete(child))
  let errors = ""
  child.stderr.on("data", (chunk) => {
    errors += String(chunk)
  })
  const updates: Array<SessionUpdate> = []
  const bySession = new Map<string, Array<SessionUpdate>>()
  const updatesOf = (sessionId: string) => {
    const known = bySession.get(sessionId) ?? []
    bySession.set(sessionId, known)
    return known
  }
  const { agent } = client({ name: "test" })
    .onRequest(methods.client.session.requestPermission, ({ params, signal }) =>
      (options.permission ?? (() => ({ outcome: { outcome: "cancelled" as const } })))(params, signal)
    )
    .onRequest(methods.client.elicitation.create, ({ params }) =>
      (options.form ?? (() => ({ action: "cancel" as const })))(
        isForm(params) ? (params.requestedSchema.properties ?? {}) : {}
      )
    )
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update)
      updatesOf(params.sessionId).push(params.update)
    })
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)))
  const close = async () => {
    child.stdin.end()
    await ended
    return child.exitCode
  }
  return { agent, updates, updatesOf, child, errors: () => errors, close }
}

export const initialize = ({ agent }: Editor, clientCapabilities: ClientCapabilities = {}) =>
  agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities })

/** An editor with a new session in the folder that it is opened in. */
export const withSessionAt = async (at: At, options: EditorOptions = {}) => {
  const editor = await openEditor(at, options)
  await initialize(editor, options.capabilities)
  return sessionIn(editor, at)
}

/** A new session in an editor. */
export const sessionIn = async (editor: Editor, at: At) => {
  const made = await editor.agent.request(methods.agent.session.new, { cwd: at.cwd, mcpServers: [] })
  const prompt = async (words: string) => {
    const answer = await editor.agent.request(methods.agent.session.prompt, {
      sessionId: made.sessionId,
      prompt: [{ type: "text", text: words }]
    })
    // The package hands over what came before an answer in the turn of the event loop after it.
    await setImmediate()
    return answer
  }
  return { editor, made, sessionId: made.sessionId, prompt, updates: editor.updatesOf(made.sessionId) }
}

/** Ends the doors that a test has left running. */
export const endEditors = async (): Promise<void> => {
  await Promise.all(
    [...running].map(async (child) => {
      const ended = once(child, "exit")
      child.kill("SIGKILL")
      await ended
    })
  )
}

/** The words of the agent by message, without those of the door itself. */
export const wordsOf = (updates: ReadonlyArray<SessionUpdate>): Readonly<Record<string, string>> => {
  const words: Record<string, string> = {}
  for (const update of updates) {
    if (update.sessionUpdate !== "agent_message_chunk" || update.content.type !== "text") continue
    const id = update.messageId ?? ""
    if (id.startsWith("msg_")) words[id] = (words[id] ?? "") + update.content.text
  }
  return words
}

/** All that was said in one text, with the words of the door. */
export const saidIn = (updates: ReadonlyArray<SessionUpdate>): string =>
  updates
    .flatMap((update) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : []
    )
    .join("")

export const toolsOf = (updates: ReadonlyArray<SessionUpdate>) => {
  const tools = new Map<string, Extract<SessionUpdate, { sessionUpdate: "tool_call" }>>()
  for (const update of updates) {
    if (update.sessionUpdate === "tool_call") tools.set(update.toolCallId, update)
    if (update.sessionUpdate !== "tool_call_update") continue
    const known = tools.get(update.toolCallId)
    if (known === undefined) throw new Error(`${update.toolCallId} was updated before it began`)
    const { kind, title, ...changed } = update
    const rest = Object.fromEntries(Object.entries(changed).filter(([, value]) => value != null))
    tools.set(update.toolCallId, { ...known, ...rest, title: title ?? known.title, sessionUpdate: "tool_call" })
  }
  return [...tools.values()]
}
