// The eras of the Model Context Protocol: that of 2025, whose servers have sessions, and that of 2026, whose servers have none.

export type Era = "2025" | "2026"

/** The versions of the protocol that a server of 2025 speaks. */
export const versions: ReadonlyArray<string> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]

/** The version that such a server speaks with whoever wants one that it does not know. */
export const latest = "2025-11-25"

/** The version of 2026. */
const newest = "2026-07-28"

const about = { capabilities: { tools: {} }, serverInfo: { name: "lab", version: "1" } }

const plain = (given: object): object => given

/** The envelope of results that a server of an era sends. */
export const eraOf = (era: Era) => {
  const complete = (given: object): object => ({ resultType: "complete", ...given })
  const cached = { ttlMs: 0, cacheScope: "private" }
  return {
    about,
    discovered: {
      resultType: "complete",
      supportedVersions: [newest],
      capabilities: about.capabilities,
      _meta: { "io.modelcontextprotocol/serverInfo": about.serverInfo },
      ...cached
    },
    result: era === "2026" ? complete : plain,
    list: era === "2026" ? (given: object): object => complete({ ...cached, ...given }) : plain
  }
}

/** A request, by what an era tells it apart. */
interface EraRequest {
  readonly rpc: string
  readonly params: { readonly _meta?: Readonly<Record<string, unknown>> } | undefined
  readonly header: unknown
}

/** The refusal of a request of another era; undefined for one of its own. */
export const refusalOfEra = (
  era: Era,
  { header, params, rpc }: EraRequest
): { readonly status: number; readonly error: object } | undefined => {
  const asked = params?._meta?.["io.modelcontextprotocol/protocolVersion"]
  if (era === "2025")
    return rpc === "server/discover" ? { status: 200, error: { code: -32601, message: "Method not found" } } : undefined
  if (asked === newest)
    return header === newest
      ? undefined
      : { status: 400, error: { code: -32020, message: "Header mismatch: Mcp-Protocol-Version" } }
  const data = { supported: [newest], requested: asked ?? "none" }
  return { status: 400, error: { code: -32022, message: "Unsupported protocol version", data } }
}
