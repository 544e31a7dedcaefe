import type * as Mcp from "@modelcontextprotocol/client"
import { limited } from "@reins/base/base/Limited"
import { once } from "@reins/base/base/Once"
import type { Refused } from "@reins/base/base/RefusalTable"
import { release } from "@reins/base/base/Release"
import { Effect, type Scope } from "effect"
import { readAnswer, type ServerAnswer } from "./ForeignAnswer.js"
import { type ListedTool, readPage, readTools, type ToolList } from "./ForeignTools.js"
import { ServerUnusable } from "./GuardedFetch.js"
import { RawTransport, rawOf } from "./RawTransport.js"
import type { ServerBounds } from "./ServerBounds.js"
import { ServerFailed } from "./ServerFailed.js"
import { serverFailure } from "./ServerFailure.js"

type Library = typeof Mcp

/** The most tools, and the most pages of them, that a server may list. */
const maxListed = 512
const maxPages = 20

/** The time in which the last words of a stream are read, in milliseconds. */
const momentMs = 200

/** A connection to a server. */
export interface ServerLink {
  /** The version of the protocol, which is a date. */
  readonly protocol: string
  /** The tools of the server. It is asked each time. */
  readonly list: Effect.Effect<ToolList, ServerFailed>
  /** Calls a tool once. An interruption tells the server that nobody waits. */
  readonly call: (
    tool: ListedTool,
    input: Readonly<Record<string, unknown>>
  ) => Effect.Effect<ServerAnswer, ServerFailed>
}

/** Hears of a connection what the library does not tell: that the stream of an answer has ended, and the words of a refusal. */
export class Wire {
  /** The last refusal. */
  refusal: Refused | undefined
  private waiting: ((error: Error) => void) | undefined

  readonly refused = (refusal: Refused): void => {
    this.refusal = refusal
  }

  /** The answer itself, if it came, is there at most a moment later. */
  readonly ended = (problem: Error | undefined): void => {
    const { waiting } = this
    if (waiting === undefined) return
    setTimeout(() => waiting(problem ?? new ServerUnusable("The server broke off its answer.")), momentMs)
  }

  /** Fails when the stream of the answer ends without one. */
  async orEnd<A>(answer: Promise<A>): Promise<A> {
    const broken = new Promise<never>((_, reject) => {
      this.waiting = reject
    })
    broken.catch(() => undefined)
    try {
      return await Promise.race([answer, broken])
    } finally {
      this.waiting = undefined
    }
  }
}

/** The library, which is loaded with the first server. */
export const mcpLibrary = once(Effect.promise(() => import("@modelcontextprotocol/client")))

/** The way to a server. */
export interface ServerWay {
  readonly transport: Mcp.Transport
  readonly bounds: ServerBounds
  /** The longest time for the connection alone, where it is another one. */
  readonly startMs?: number
  readonly wire?: Wire
  /** True for a server that cannot be asked which versions it speaks: it is asked in the protocol of 2025. */
  readonly isOld?: boolean
}

/** Connects to a server by a transport, in the protocol of 2026 or else that of 2025. The scope closes the connection. */
export const connectServer = (
  { Client }: Library,
  { bounds, isOld = false, startMs = bounds.connectMs, transport, wire = new Wire() }: ServerWay
): Effect.Effect<ServerLink, ServerFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const client = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Client(
            { name: "reins", version: release },
            {
              capabilities: {},
              ...(!isOld && { versionNegotiation: { mode: "auto", probe: { timeoutMs: startMs } } }),
              // Nobody is asked on behalf of a server: not for input, not for a model.
              inputRequired: { autoFulfill: false }
            }
          )
      ),
      (open) =>
        // A release runs where interruption is off.
        Effect.ignore(
          limited(
            Effect.promise(() => close(open, transport)),
            Effect.timeout(2000)
          )
        )
    )
    yield* asked({ isCall: false, timeoutMs: startMs * 2, wire }, (signal) =>
      client.connect(new RawTransport(transport), { timeout: startMs, signal })
    )
    return linkOf(client, bounds, wire)
  })

const close = async (client: Mcp.Client, transport: Mcp.Transport): Promise<void> => {
  if ("terminateSession" in transport && typeof transport.terminateSession === "function")
    await Promise.resolve(transport.terminateSession()).catch(() => undefined)
  await client.close().catch(() => undefined)
}

const linkOf = (client: Mcp.Client, { callMs, connectMs }: ServerBounds, wire: Wire): ServerLink => ({
  protocol: client.getNegotiatedProtocolVersion() ?? "unknown",
  list: asked({ isCall: false, timeoutMs: connectMs, wire }, async (signal) => {
    let elements: ReadonlyArray<unknown> = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page++) {
      const params = cursor === undefined ? {} : { cursor }
      const sent = client.request({ method: "tools/list", params }, { timeout: connectMs, signal })
      const read = readPage(rawOf(await wire.orEnd(sent)))
      if (elements.length + read.elements.length > maxListed)
        throw new ServerUnusable(`The server lists more than ${maxListed} tools.`, true)
      elements = [...elements, ...read.elements]
      cursor = read.next
      if (cursor === undefined) return readTools(elements)
    }
    throw new ServerUnusable(`The server lists its tools in more than ${maxPages} pages.`)
  }),
  call: (tool, input) =>
    asked({ isCall: true, timeoutMs: callMs, wire }, async (signal) => {
      const sent = client.callTool(
        { name: tool.name, arguments: { ...input } },
        {
          timeout: callMs,
          maxTotalTimeout: callMs,
          signal,
          // The schema of the output is left out: nothing of a server is compiled here, and a call is sent once.
          toolDefinition: { name: tool.name, inputSchema: { ...tool.input_schema, type: "object" as const } }
        }
      )
      return readAnswer(rawOf(await wire.orEnd(sent)))
    })
})

interface Asking {
  readonly isCall: boolean
  readonly timeoutMs: number
  readonly wire: Wire
}

const asked = <A>(
  { isCall, timeoutMs, wire }: Asking,
  ask: (signal: AbortSignal) => Promise<A>
): Effect.Effect<A, ServerFailed> =>
  Effect.tryPromise({ try: ask, catch: (error) => serverFailure({ error, isCall, refusal: wire.refusal }) }).pipe(
    Effect.timeoutFail({
      duration: timeoutMs,
      onTimeout: () =>
        new ServerFailed({
          message: `The server did not answer within ${timeoutMs / 1000} seconds.`,
          mayHaveHappened: isCall
        })
    })
  )
