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
export const send = (exchange: Exchange, reply: Reply): void => {
  const { cookies, response } = exchange
  if (response.headersSent || response.destroyed) return
  const body = reply.body ?? ""
  const lines: Array<string | ReadonlyArray<string>> = headerLines(exchange, reply.headers)
  if (reply.status !== 204 && reply.status !== 304) lines.push("content-length", String(Buffer.byteLength(body)))
  if (cookies.length > 0) lines.push("set-cookie", cookies.map(Cookies.serializeCookie))
  // Boundary: Node takes a list of values in the place of a value, which its types leave out.
  response.writeHead(reply.status, lines as Array<string>)
  // Node leaves the body out of the answer to HEAD.
  response.end(body)
}

/**
 * The headers of an answer for `writeHead`: its own, those of its exchange, and the common ones that neither replaces. V8 takes 4 us more to
 * spread as many into one object.
 */
export const headerLines = (
  { commonHeaders, headers }: Exchange,
  own: Readonly<Record<string, string>>
): Array<string> => {
  const lines: Array<string> = []
  for (let index = 0; index < commonHeaders.length; index += 2) {
    const name = commonHeaders[index] ?? ""
    if (headers[name] === undefined && own[name] === undefined) lines.push(name, commonHeaders[index + 1] ?? "")
  }
  for (const name in headers) if (own[name] === undefined) lines.push(name, headers[name] ?? "")
  for (const name in own) lines.push(name, own[name] ?? "")
  return lines
}
