import { randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { ToolServer } from "@reins/core/harness/TurnInput"
import { Effect, Redacted } from "effect"

/** The one tool of the server, and the word that it answers. */
export const toolName = "pomegranate"
export const toolWord = "SEEDS-4711"

interface Call {
  readonly id?: number | string
  readonly method?: string
  readonly params?: { readonly protocolVersion?: string }
}

const results: Readonly<Record<string, (params: Call["params"]) => unknown>> = {
  initialize: (params) => ({
    protocolVersion: params?.protocolVersion ?? "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "verify", version: "1" }
  }),
  ping: () => ({}),
  "tools/call": () => ({ content: [{ type: "text", text: toolWord }] })
}

/** The list as the service gives it, with the mark for agents that hide tools without it. */
const listed = (isAlwaysLoaded: boolean) => ({
  tools: [
    {
      name: toolName,
      description: "Says a word.",
      inputSchema: { type: "object", properties: {} },
      ...(isAlwaysLoaded && { _meta: { "anthropic/alwaysLoad": true } })
    }
  ]
})

const bodyOf = async (request: IncomingMessage): Promise<Call> => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece)
  try {
    return JSON.parse(Buffer.concat(pieces).toString("utf8"))
  } catch {
    return {}
  }
}

/** A server of the Model Context Protocol over HTTP, without streams, which writes down the methods that callers with its token ask for. */
export const startToolServer = Effect.fnUntraced(function* (isAlwaysLoaded: boolean) {
  const token = randomBytes(16).toString("hex")
  const asked: Array<string> = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end()
    if (request.method !== "POST") return response.writeHead(405).end()
    const { id, method = "", params } = await bodyOf(request)
    asked.push(method)
    if (id === undefined) return response.writeHead(202).end()
    const result = method === "tools/list" ? listed(isAlwaysLoaded) : results[method]?.(params)
    const error = { code: -32601, message: "Method not found" }
    const said = { jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) }
    return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(said))
  }
  const server = yield* Effect.acquireRelease(
    Effect.async<ReturnType<typeof createServer>>((resume) => {
      // A caller that goes away ends its own request alone.
      const made = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.sync(() => {
        made.close()
        made.closeAllConnections()
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const toolServer: ToolServer = {
    name: "verify",
    url: `http://127.0.0.1:${port}/mcp`,
    token: Redacted.make(token)
  }
  return { asked, toolServer }
})
