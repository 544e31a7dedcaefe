import type { IncomingMessage, ServerResponse } from "node:http"
import type * as Mcp from "@modelcontextprotocol/server"
import { release } from "@reins/base/base/Release"
import { type Effect, Schema } from "effect"
import type { LoanKind, LoanTerms } from "../Loans.js"
import { refuse } from "../Refusal.js"
import { sendAnswer } from "./Send.js"
import type { CallTool, ToolAnswer, ToolOffer } from "./ToolOffer.js"

type Library = typeof Mcp
type Run = <A>(effect: Effect.Effect<A>, options?: { readonly signal?: AbortSignal }) => Promise<A>

/** The longest request, in bytes. */
const maxBody = 1024 * 1024

/** The clients of agents give up on a call that says nothing, the first after a minute. */
const progressMs = 10_000

/** The bounds of the requests of one agent. */
export interface McpBounds {
  /** The longest input of a call, in characters of its JSON. */
  readonly maxInput: number
  /** The time of a request to come as a whole, from this machine, in milliseconds. */
  readonly bodyMs: number
}

/**
 * The servers of the tools of one agent, as a kind of loan. Each request stands alone, so a restart of the service loses no session of the
 * protocol. It speaks the protocol of 2025 and that of 2026.
 */
export class McpEndpoint implements LoanKind {
  private call: CallTool | undefined
  /** True once the agent has asked for its tools. */
  wasListed = false
  /** The calls under way, by the number of their request. Clients that are not one connection may use a number twice. */
  private readonly running = new Map<string, Set<AbortController>>()
  private readonly handlers = new Map<string, Promise<Mcp.McpHttpHandler>>()

  constructor(
    private readonly offer: ToolOffer,
    private readonly library: Promise<Library>,
    private readonly run: Run,
    private readonly bounds: McpBounds
  ) {}

  /** Answers the calls of a turn from here on; those of none where it is undefined. */
  begin(call: CallTool | undefined): void {
    this.call = call
  }

  answer(request: IncomingMessage, response: ServerResponse, terms: LoanTerms): void {
    void this.serve(request, response, terms).catch(() => response.destroy())
  }

  /** Between turns the agent may list its tools. A call gets an answer that its model understands, and no refusal of the token. */
  answerClosed(request: IncomingMessage, response: ServerResponse, terms: LoanTerms): void {
    this.answer(request, response, terms)
  }

  private async serve(request: IncomingMessage, response: ServerResponse, { path }: LoanTerms): Promise<void> {
    const { headers, method = "GET", url = "" } = request
    // A page in a browser that was led here sends its origin, or the name of its own host.
    if (headers.origin !== undefined || !isLoopback(headers.host))
      return refuse(response, 403, "permission_error", "This address is for agents on this machine.")
    const server = this.offer.servers.find(({ name }) => url === `${path}/${name}`)
    if (server === undefined) return refuse(response, 404, "not_found_error", "There is no server of tools here.")
    const body = await read(request, this.bounds.bodyMs)
    if (body === "late") return refuse(response, 408, "invalid_request_error", "The request did not come in time.")
    if (body === "long") return refuse(response, 413, "invalid_request_error", "The request is too long.")
    const parsedBody = jsonIn(body)
    this.withdraw(parsedBody)
    const gone = new AbortController()
    // After an answer there is nothing to withdraw, and an abort would cost part of each call.
    response.once("close", () => {
      if (!response.writableFinished) gone.abort()
    })
    const asked = new Request(`http://127.0.0.1${url}`, {
      method,
      headers: headersOf(headers),
      signal: gone.signal,
      ...(method === "POST" && parsedBody === undefined && { body })
    })
    const handler = await this.handlerOf(server.name)
    // The library would read the body once more, through streams that cost more than the call.
    await sendAnswer(await handler.fetch(asked, parsedBody === undefined ? {} : { parsedBody }), response)
  }

  /** A client of 2025 withdraws a call with a request of its own, and some send one for a call that has ended. */
  private withdraw(body: unknown): void {
    if (!isCancel(body)) return
    const found = [...(this.running.get(String(body.params.requestId)) ?? [])]
    if (found.length === 1) found[0]?.abort()
  }

  private handlerOf(server: string): Promise<Mcp.McpHttpHandler> {
    const found = this.handlers.get(server)
    if (found !== undefined) return found
    const made = this.library.then((library) =>
      library.createMcpHandler((request) => this.serverFor(library, server, request), { maxRequestBodySize: maxBody })
    )
    this.handlers.set(server, made)
    return made
  }

  private serverFor({ Server }: Library, name: string, { requestInfo }: Mcp.McpRequestContext): Mcp.Server {
    const server = new Server({ name, version: release }, { capabilities: { tools: {} } })
    server.setRequestHandler("tools/list", () => {
      this.wasListed = true
      return { tools: this.listed(name) }
    })
    server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
      const meta = params._meta ?? {}
      const { progressToken } = meta
      const withdrawn = new AbortController()
      const signals = [mcpReq.signal, withdrawn.signal, ...(requestInfo === undefined ? [] : [requestInfo.signal])]
      const ofNumber = this.running.get(String(mcpReq.id)) ?? new Set()
      this.running.set(String(mcpReq.id), ofNumber.add(withdrawn))
      let progress = 0
      const tell = () =>
        mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken: progressToken ?? 0, progress: ++progress }
        })
      const beat = progressToken === undefined ? undefined : setInterval(() => void tell().catch(() => {}), progressMs)
      try {
        const {
          images = [],
          is_error,
          text
        } = await this.answerTo(
          {
            server: name,
            tool: params.name,
            call_id: callIdOf(meta, mcpReq.id),
            input: params.arguments ?? {},
            hears_progress: progressToken !== undefined
          },
          AbortSignal.any(signals)
        )
        const shown = images.map(({ data, mime_type }) => ({ type: "image" as const, data, mimeType: mime_type }))
        return { content: [{ type: "text", text }, ...shown], ...(is_error && { isError: true }) }
      } finally {
        clearInterval(beat)
        ofNumber.delete(withdrawn)
        if (ofNumber.size === 0) this.running.delete(String(mcpReq.id))
      }
    })
    return server
  }

  private listed(server: string): Array<Mcp.Tool> {
    const tools = this.offer.servers.find(({ name }) => name === server)?.tools ?? []
    return tools.map(({ description, input_schema, is_read_only, name }) => ({
      name,
      description,
      inputSchema: { ...input_schema, type: "object" as const },
      annotations: { readOnlyHint: is_read_only, openWorldHint: false },
      ...(this.offer.is_always_loaded && { _meta: { "anthropic/alwaysLoad": true } })
    }))
  }

  private async answerTo(call: Parameters<CallTool>[0], signal: AbortSignal): Promise<ToolAnswer> {
    const known = this.offer.servers.find(({ name }) => name === call.server)?.tools ?? []
    if (!known.some(({ name }) => name === call.tool))
      return failed(`There is no tool ${call.tool}. There are: ${known.map(({ name }) => name).join(", ")}.`)
    if (JSON.stringify(call.input).length > this.bounds.maxInput)
      return failed(`The input is longer than ${this.bounds.maxInput} characters. Call the tool with less.`)
    if (this.call === undefined) return failed("No turn of yours runs. Call tools while you work on a message.")
    return this.run(this.call(call), { signal })
  }
}

const failed = (text: string): ToolAnswer => ({ text, is_error: true })

/** The id that the agent's model gave the call. Of agents that do not tell it, the id of the request. */
const callIdOf = (meta: Readonly<Record<string, unknown>>, requestId: string | number): string => {
  const given = meta["claudecode/toolUseId"] ?? meta["callId"]
  return typeof given === "string" && given.length <= 200 ? given : `request-${requestId}`
}

/** A request to withdraw a call. */
const isCancel = Schema.is(
  Schema.Struct({
    method: Schema.Literal("notifications/cancelled"),
    params: Schema.Struct({ requestId: Schema.Union(Schema.String, Schema.Number) })
  })
)

/** The value of a text in JSON; undefined for any other text. */
const jsonIn = (text: Buffer): unknown => {
  try {
    return JSON.parse(text.toString("utf8"))
  } catch {
    return undefined
  }
}

const isLoopback = (host: string | undefined): boolean => /^(?:127\.0\.0\.1|localhost)(?::\d+)?$/i.test(host ?? "")

const headersOf = (given: IncomingMessage["headers"]): Headers => {
  const headers = new Headers()
  for (const [name, value] of Object.entries(given))
    if (name !== "authorization" && value !== undefined) headers.set(name, String(value))
  return headers
}

/** The body of a request, unless it is too long or takes too long. Fails when the request breaks off. */
const read = (request: IncomingMessage, bodyMs: number): Promise<Buffer | "long" | "late"> =>
  new Promise((resolve, reject) => {
    const pieces: Array<Buffer> = []
    let length = 0
    const settle = (body: Buffer | "long" | "late") => {
      clearTimeout(timer)
      // The rest has nowhere to go. It has to be read before the agent takes an answer.
      request.off("data", take).resume()
      resolve(body)
    }
    const timer = setTimeout(() => settle("late"), bodyMs).unref()
    const take = (piece: Buffer) => {
      length += piece.length
      if (length > maxBody) return settle("long")
      pieces.push(piece)
    }
    request
      .on("data", take)
      .once("end", () => settle(Buffer.concat(pieces)))
      .once("error", reject)
      .once("close", () => {
        clearTimeout(timer)
        reject(new Error("the request broke off"))
      })
  })
