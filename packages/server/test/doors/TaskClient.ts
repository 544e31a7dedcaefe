import { Client, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client"
import {
  createTaskSessionFromClient,
  type JsonRpcResponse,
  type RawClientDispatch,
  type TaskEnabledSession
} from "@modelcontextprotocol/ext-tasks/client"
import { assert } from "vitest"

const protocolVersion = "2026-07-28"
const clientInfo = { name: "test", version: "1" }

/** A task as the protocol tells it, with the parts that some states have. */
export interface ToldTask {
  readonly taskId: string
  readonly status: string
  readonly statusMessage?: string
  readonly createdAt: string
  readonly lastUpdatedAt: string
  readonly ttlMs: number | null
  readonly pollIntervalMs: number
  readonly resultType: string
  readonly result?: { readonly structuredContent: Record<string, unknown>; readonly isError?: boolean }
  readonly inputRequests?: Readonly<
    Record<string, { readonly method: string; readonly params: { readonly message: string } }>
  >
}

export interface TaskClient {
  /** The protocol's own driver of tasks. It checks each message with the schemas of the extension. */
  readonly session: TaskEnabledSession
  /** Sends one request with the envelope of the client. Gives its result, or its error. */
  readonly ask: (method: string, params: Readonly<Record<string, unknown>>) => Promise<Answered>
  /** Calls a tool whose answer is a handle. */
  readonly begin: (name: string, input: Readonly<Record<string, unknown>>) => Promise<ToldTask>
  readonly look: (taskId: string) => Promise<ToldTask>
  /** Follows a task to its end, with the driver. */
  readonly follow: (taskId: string) => Promise<{ readonly status: string; readonly fields: Record<string, unknown> }>
  /** What the person was asked. */
  readonly asked: Array<string>
}

export interface Answered {
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export interface TaskClientOptions {
  /** Answers a question for the person. A program without it cannot show any. */
  readonly person?: (message: string) => string | undefined
  /** False for a client that does not declare the extension. */
  readonly takesTasks?: boolean
}

const open = new Set<{ readonly close: () => Promise<void> }>()

/** A client of the protocol's packages, which takes handles and takes them up again. */
export const openTaskClient = async (
  way: () => Transport,
  { person, takesTasks = true }: TaskClientOptions = {}
): Promise<TaskClient> => {
  const asked: Array<string> = []
  const clientCapabilities = {
    ...(person !== undefined && { elicitation: { form: {} } }),
    ...(takesTasks && { extensions: { "io.modelcontextprotocol/tasks": {} } })
  }
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: { pin: protocolVersion } }
  })
  await client.connect(way())
  const wire = await openWire(way())
  const session = createTaskSessionFromClient(client, {
    endpointId: "reins",
    rawDispatch: wire.dispatch,
    v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
    ...(person !== undefined && {
      onInputRequest: async ({ params }: { readonly params?: Readonly<Record<string, unknown>> }) => {
        const message = String(params?.["message"])
        asked.push(message)
        const choice = person(message)
        return (choice === undefined ? { action: "decline" } : { action: "accept", content: { choice } }) as never
      }
    })
  })
  open.add(client).add(wire)
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": protocolVersion,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": clientCapabilities
  }
  const ask = (method: string, params: Readonly<Record<string, unknown>>) =>
    wire.ask({ method, params: { ...params, _meta } })
  const good = async (method: string, params: Readonly<Record<string, unknown>>) => {
    const { error, result } = await ask(method, params)
    assert.isUndefined(error, JSON.stringify(error))
    return result as unknown as ToldTask
  }
  return {
    session,
    asked,
    ask,
    begin: async (name, input) => {
      const made = await good("tools/call", { name, arguments: input })
      assert.strictEqual(made.resultType, "task", JSON.stringify(made))
      return made
    },
    look: (taskId) => good("tasks/get", { taskId }),
    follow: async (taskId) => {
      const reference = { endpointId: "reins", generation: "v2", taskId, originalOperation: "tools/call" } as const
      const { outcome } = await (await session.resumeTask(reference as never)).settle()
      if (outcome.status === "failed") throw outcome.error
      const result = outcome.status === "completed" ? (outcome.result as ToldTask["result"]) : undefined
      return { status: outcome.status, fields: result?.structuredContent ?? {} }
    }
  }
}

/** A way of its own for messages whose forms the package of the protocol does not know. */
const openWire = async (transport: Transport) => {
  const waiting = new Map<unknown, (message: Answered) => void>()
  let count = 0
  transport.onmessage = (message) => {
    if ("id" in message) waiting.get(message.id)?.(message as Answered)
  }
  await transport.start()
  transport.setProtocolVersion?.(protocolVersion)
  const ask = (request: { readonly method: string; readonly params?: unknown }) =>
    new Promise<Answered>((resolve, reject) => {
      const id = `raw-${++count}`
      waiting.set(id, resolve)
      transport.send({ jsonrpc: "2.0", id, ...request } as JSONRPCMessage).catch((fault: unknown) => {
        // The package reads the errors of some statuses alone.
        const body = /\{"jsonrpc".*\}$/.exec(String(fault))?.[0]
        if (body === undefined) reject(fault)
        else resolve(JSON.parse(body))
      })
    }).then(({ error, result }) => ({ ...(error !== undefined && { error }), ...(result !== undefined && { result }) }))
  const dispatch: RawClientDispatch = async (request) => {
    const { error, result } = await ask(request as never)
    return (error === undefined ? { kind: "result", result } : { kind: "error", error }) as JsonRpcResponse
  }
  return { ask, dispatch, close: () => transport.close() }
}

export const endTaskClients = async (): Promise<void> => {
  await Promise.all([...open].map((each) => each.close()))
  open.clear()
}
