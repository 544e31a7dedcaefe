import type * as Mcp from "@modelcontextprotocol/client"
import { isRecord } from "./ForeignMessage.js"

// The library takes an answer as a whole or not at all. One odd element of a list costs all, and so does a missing version of the server. So this hands
// it what it needs and no more. Results of lists and calls carry what the server has sent, for our own readers.

const rawKey = "reins/raw"

type Result = Readonly<Record<string, unknown>>

const withRaw = (result: object) => (raw: Result) => ({ ...result, _meta: { [rawKey]: raw } })

/** Capabilities that every server is taken to have: one without tools lists none. */
const about = { capabilities: { tools: {} } }

const cached = { ttlMs: 0, cacheScope: "private" }

/** Gives what the library needs of the result of a request, by its method. */
const needed: ReadonlyMap<string, (raw: Result) => object> = new Map<string, (raw: Result) => object>([
  ["tools/list", withRaw({ tools: [], ...cached })],
  ["tools/call", withRaw({ content: [] })],
  [
    "initialize",
    ({ protocolVersion }) => ({ ...about, protocolVersion, serverInfo: { name: "server", version: "0" } })
  ],
  [
    "server/discover",
    ({ supportedVersions }) => ({
      ...about,
      ...cached,
      supportedVersions: [supportedVersions].flat().filter((version) => typeof version === "string")
    })
  ]
])

/** The result as the server has sent it. */
export const rawOf = ({ _meta }: { readonly _meta?: Readonly<Record<string, unknown>> | undefined }): unknown =>
  _meta?.[rawKey]

/** A transport whose answers have what the library needs. */
export class RawTransport implements Mcp.Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: Mcp.Transport["onmessage"]
  readonly hasPerRequestStream: boolean
  private readonly asked = new Map<string, (raw: Result) => object>()

  constructor(private readonly inner: Mcp.Transport) {
    this.hasPerRequestStream = inner.hasPerRequestStream === true
    inner.onclose = () => this.onclose?.()
    inner.onerror = (error) => this.onerror?.(error)
    inner.onmessage = (message, extra) => this.onmessage?.(this.read(message), extra)
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId
  }

  start(): Promise<void> {
    return this.inner.start()
  }

  send(message: Mcp.JSONRPCMessage, options?: Mcp.TransportSendOptions): Promise<void> {
    if ("method" in message && "id" in message) {
      const found = needed.get(message.method)
      if (found !== undefined) this.asked.set(String(message.id), found)
    }
    return this.inner.send(message, options)
  }

  close(): Promise<void> {
    return this.inner.close()
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion?.(version)
  }

  private read<M extends Mcp.JSONRPCMessage>(message: M): M | Mcp.JSONRPCResultResponse {
    if (!("id" in message) || message.id === undefined || "method" in message) return message
    // Servers may give the number of a request back as a text.
    const key = String(message.id)
    const found = this.asked.get(key)
    this.asked.delete(key)
    if (found === undefined || !("result" in message) || !isRecord(message.result)) return message
    const { resultType = "complete" } = message.result
    // A result of another kind is none that our readers know, as a question to people.
    if (resultType !== "complete" && resultType !== null) return message
    return { jsonrpc: "2.0", id: message.id, result: { ...found(message.result), resultType: "complete" } }
  }
}
