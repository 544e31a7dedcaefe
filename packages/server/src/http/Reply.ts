import * as Cookies from "@effect/platform/Cookies"
import type { Exchange } from "./Exchange.js"

/** An answer before it is sent. */
export class Reply {
  constructor(
    readonly status: number,
    /** Null for an answer without a body. */
    readonly body: string | Uint8Array | null = null,
    /** By their names in lower case. */
    readonly headers: Readonly<Record<string, string>> = {}
  ) {}

  static json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
    return Reply.jsonText(status, JSON.stringify(value), headers)
  }

  static jsonText(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Reply {
    return new Reply(status, text, { "content-type": "application/json", ...headers })
  }
}

/** Sends a reply with the headers and cookies of its exchange, unless the request was answered before or its client has gone. */
export const send = ({ cookies, headers, response }: Exchange, reply: Reply): void => {
  if (response.headersSent || response.destroyed) return
  const body = reply.body ?? ""
  response.writeHead(reply.status, {
    ...headers,
    ...reply.headers,
    ...(reply.status !== 204 && reply.status !== 304 && { "content-length": Buffer.byteLength(body) }),
    ...(cookies.length > 0 && { "set-cookie": cookies.map(Cookies.serializeCookie) })
  })
  // Node leaves the body out of the answer to HEAD.
  response.end(body)
}
