import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client"
import { bounded } from "@reins/base/base/ForeignText"

// The border for the messages of servers: the envelope of JSON-RPC around what they say.

const longestError = 2000

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string =>
  bounded(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), longestError)

const errorOf = (given: unknown) => {
  if (!isRecord(given)) return { code: -32603, message: textOf(given) }
  const { code, data, message } = given
  return {
    code: typeof code === "number" && Number.isInteger(code) ? code : -32603,
    message: textOf(message ?? given),
    ...(data !== undefined && { data })
  }
}

/**
 * A message as the library takes it; undefined for what is none. An answer may have `error: null` beside its result, an error without a code, and no
 * id where it can only be the answer to `asked`. A result that is no object is an empty one, in which its reader finds nothing.
 */
export const foreignMessage = (value: unknown, asked?: RequestId): JSONRPCMessage | undefined => {
  if (!isRecord(value)) return undefined
  // Boundary: the library checks requests and notices, and answers none that it does not know.
  if ("method" in value) return value as unknown as JSONRPCMessage
  const id = asked ?? (typeof value["id"] === "string" || typeof value["id"] === "number" ? value["id"] : undefined)
  if (id === undefined) return undefined
  const { error, result } = value
  if (error !== undefined && error !== null) return { jsonrpc: "2.0", id, error: errorOf(error) }
  if (result === undefined) return undefined
  return { jsonrpc: "2.0", id, result: isRecord(result) ? result : {} }
}
