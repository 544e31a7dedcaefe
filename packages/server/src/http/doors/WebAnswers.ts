import type { IncomingMessage, ServerResponse } from "node:http"
import type { Principal } from "@reins/base/domain/Principal"
import type { Exchange } from "../Exchange.js"
import { headerLines } from "../Reply.js"

/** Names the credentials of a caller, without their secret. */
export const keySpaceOf = ({ accountId, via }: Principal): string => (via.kind === "api_key" ? via.keyId : accountId)

/** The headers that a protocol may read. No credential is among them. */
export const headersOf = ({ headers: given }: IncomingMessage): Headers => {
  const headers = new Headers()
  for (const [name, value] of Object.entries(given))
    if (name !== "authorization" && name !== "cookie" && name !== "host" && typeof value === "string")
      headers.set(name, value)
  return headers
}

/** Writes an answer as it comes, and no faster than the client reads. An answer that breaks off breaks the connection. */
export const sendAnswer = async ({ body, headers: own, status }: Response, exchange: Exchange): Promise<void> => {
  const { response } = exchange
  if (response.destroyed) return body?.cancel()
  response.writeHead(status, headerLines(exchange, Object.fromEntries(own)))
  response.flushHeaders()
  if (body !== null) {
    const reader = body.getReader()
    response.once("close", () => void reader.cancel().catch(() => undefined))
    try {
      for (let next = await reader.read(); !next.done && !response.destroyed; next = await reader.read())
        if (!response.write(next.value)) await drained(response)
    } catch {
      // The client learns from the broken connection that its answer is not whole.
      return void response.destroy()
    }
  }
  response.end()
}

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const go = () => {
      response.off("drain", go).off("close", go)
      resolve()
    }
    response.on("drain", go).on("close", go)
  })
