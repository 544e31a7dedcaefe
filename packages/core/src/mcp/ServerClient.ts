import type * as Mcp from "@modelcontextprotocol/client"
import { Data, Effect, type Scope } from "effect"
import { once } from "../base/Once.js"
import { release } from "../base/Release.js"
import { ServerUnusable } from "./GuardedFetch.js"

type Library = typeof Mcp

/** The bounds of what a server may take and give. */
export interface ServerBounds {
  /** The longest time for a connection or a list, in milliseconds. */
  readonly connectMs: number
  /** The longest time for a call, in milliseconds. */
  readonly callMs: number
  /** The longest answer of a server, in bytes. */
  readonly maxBytes: number
}

export const serverBounds: ServerBounds = { connectMs: 10_000, callMs: 300_000, maxBytes: 4 * 1024 * 1024 }

/** The most tools, and the most pages of them, that a server may list. */
const maxListed = 512
const maxPages = 20

/** The time in which the last words of a stream are read, in milliseconds. */
const momentMs = 200

/**
 * A server cannot be asked, or its answer cannot be used. The message may hold words of the server, so whoever shows it blanks secrets first.
 * `mayHaveHappened` is true once a call was sent.
 */
export class ServerFailed extends Data.TaggedError("ServerFailed")<{
  readonly message: string
  readonly mayHaveHappened: boolean
  /** True where the connection of the server has to be mended. */
  readonly needsAuthorization?: boolean
}> {}

/** The server has refused a token, and no other one is there. The call was not done. */
export class TokenRefused extends Error {}

/** A tool as its server lists it. */
export interface ListedTool {
  readonly name: string
  readonly description: string
  readonly input_schema: Readonly<Record<string, unknown>>
  readonly is_read_only: boolean
}

/** The answer of a server to a call. */
export interface ServerAnswer {
  readonly text: string
  readonly is_error: boolean
  readonly images: ReadonlyArray<{ readonly data: string; readonly mime_type: string }>
}

/** A connection to a server. */
export interface ServerLink {
  /** The version of the protocol, which is a date. */
  readonly protocol: string
  /** The tools of the server. It is asked each time. */
  readonly list: Effect.Effect<ReadonlyArray<ListedTool>, ServerFailed>
  /** Calls a tool once. An interruption tells the server that nobody waits. */
  readonly call: (
    tool: ListedTool,
    input: Readonly<Record<string, unknown>>
  ) => Effect.Effect<ServerAnswer, ServerFailed>
}

/** Hears that the stream of an answer has ended. The answer itself, if it came, is there at most a moment later. */
export class StreamEnds {
  private waiting: ((error: Error) => void) | undefined

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

/** Connects to a server by a transport, in the protocol of 2026 or else that of 2025. The scope closes the connection. */
export const connectServer = (
  { Client }: Library,
  transport: Mcp.Transport,
  bounds: ServerBounds,
  ends: StreamEnds = new StreamEnds()
): Effect.Effect<ServerLink, ServerFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const client = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Client(
            { name: "reins", version: release },
            {
              capabilities: {},
              versionNegotiation: { mode: "auto", probe: { timeoutMs: bounds.connectMs } },
              // Nobody is asked on behalf of a server: not for input, not for a model.
              inputRequired: { autoFulfill: false }
            }
          )
      ),
      (open) =>
        Effect.ignore(
          Effect.timeout(
            Effect.promise(() => close(open, transport)),
            2000
          )
        )
    )
    yield* asked(false, bounds.connectMs * 2, (signal) =>
      client.connect(transport, { timeout: bounds.connectMs, signal })
    )
    return linkOf(client, bounds, ends)
  })

/** A session of the protocol of 2025 ends at its server too. */
const close = async (client: Mcp.Client, transport: Mcp.Transport): Promise<void> => {
  if ("terminateSession" in transport && typeof transport.terminateSession === "function")
    await Promise.resolve(transport.terminateSession()).catch(() => undefined)
  await client.close().catch(() => undefined)
}

const linkOf = (client: Mcp.Client, { callMs, connectMs }: ServerBounds, ends: StreamEnds): ServerLink => ({
  protocol: client.getNegotiatedProtocolVersion() ?? "unknown",
  list: asked(false, connectMs, async (signal) => {
    const tools: Array<Mcp.Tool> = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page++) {
      const params = cursor === undefined ? {} : { cursor }
      const listed = await client.request({ method: "tools/list", params }, { timeout: connectMs, signal })
      tools.push(...listed.tools)
      if (tools.length > maxListed) throw new ServerUnusable(`The server lists more than ${maxListed} tools.`)
      cursor = listed.nextCursor
      if (cursor === undefined) return tools.map(toListed)
    }
    throw new ServerUnusable(`The server lists its tools in more than ${maxPages} pages.`)
  }),
  call: (tool, input) =>
    Effect.map(
      asked(true, callMs, (signal) =>
        ends.orEnd(
          client.callTool(
            { name: tool.name, arguments: { ...input } },
            {
              timeout: callMs,
              maxTotalTimeout: callMs,
              signal,
              // The schema of the output is left out: nothing of a server is compiled here, and a call is sent once.
              toolDefinition: { name: tool.name, inputSchema: { ...tool.input_schema, type: "object" as const } }
            }
          )
        )
      ),
      toAnswer
    )
})

const asked = <A>(
  isCall: boolean,
  timeoutMs: number,
  ask: (signal: AbortSignal) => Promise<A>
): Effect.Effect<A, ServerFailed> =>
  Effect.tryPromise({ try: ask, catch: (error) => failureOf(error, isCall) }).pipe(
    Effect.timeoutFail({
      duration: timeoutMs,
      onTimeout: () =>
        new ServerFailed({
          message: `The server did not answer within ${timeoutMs / 1000} seconds.`,
          mayHaveHappened: isCall
        })
    })
  )

/** Errors that a server answers with: it has the call, and says that it did not do it. */
const isAnswered = (error: Error): boolean => "code" in error && typeof error.code === "number"

/** The server has refused the token, and the one that was made in its place. */
const isRefused = (error: Error): boolean => "code" in error && error.code === "CLIENT_HTTP_AUTHENTICATION"

/** Says that a server takes no token of its connection. */
export const refusedToken =
  "It refuses the tokens of its connection (401). Check what the client may do there, or give the connection a new credential."

const failureOf = (error: unknown, isCall: boolean): ServerFailed => {
  if (!(error instanceof Error)) return new ServerFailed({ message: "It gave no answer.", mayHaveHappened: isCall })
  if (error instanceof TokenRefused)
    return new ServerFailed({ message: error.message, mayHaveHappened: false, needsAuthorization: true })
  if (isRefused(error))
    return new ServerFailed({ message: refusedToken, mayHaveHappened: false, needsAuthorization: true })
  const cause = error.cause instanceof Error ? error.cause : undefined
  const code = cause !== undefined && "code" in cause ? ` (${String(cause.code)})` : ""
  const known = [error, cause].find((found) => found instanceof ServerUnusable || found?.name === "Error")
  const message = (known?.message ?? error.message).trim()
  return new ServerFailed({
    message: message === "" ? `It gave no answer${code}.` : message,
    mayHaveHappened: isCall && !isAnswered(error)
  })
}

const toListed = ({ annotations, description, inputSchema, name }: Mcp.Tool): ListedTool => {
  const { $schema: _, ...input_schema } = inputSchema
  return { name, description: description ?? "", input_schema, is_read_only: annotations?.readOnlyHint === true }
}

/** An image of a resource is an image. Other bytes are told by their address, because models read none. */
const takeResource = (
  resource: Mcp.EmbeddedResource["resource"],
  texts: Array<string>,
  images: Array<ServerAnswer["images"][number]>
): void => {
  const { mimeType = "application/octet-stream", uri } = resource
  if ("text" in resource) texts.push(resource.text)
  else if (/^image\//.test(mimeType)) images.push({ data: resource.blob, mime_type: mimeType })
  else texts.push(`[${mimeType} that is not shown: ${uri}]`)
}

const toAnswer = (result: Mcp.CallToolResult): ServerAnswer => {
  const texts: Array<string> = []
  const images: Array<{ readonly data: string; readonly mime_type: string }> = []
  for (const block of result.content) {
    if (block.type === "text") texts.push(block.text)
    else if (block.type === "image") images.push({ data: block.data, mime_type: block.mimeType })
    else if (block.type === "resource_link") texts.push(`${block.name}: ${block.uri}`)
    else if (block.type === "resource") takeResource(block.resource, texts, images)
    else texts.push(`[${block.type} that is not shown]`)
  }
  // Agents read texts alone, so a value stands as JSON where the server gives no text.
  if (texts.length === 0 && result.structuredContent !== undefined) texts.push(JSON.stringify(result.structuredContent))
  return { text: texts.join("\n"), is_error: result.isError === true, images }
}
