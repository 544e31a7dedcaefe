import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Cookies from "@effect/platform/Cookies"
import type { Principal } from "@reins/base/domain/Principal"
import type { Forwarding } from "./ClientAddress.js"
import type { InProcess } from "./InProcess.js"

/** A request that is being answered: its facts, and the headers and cookies of every answer to it. */
export class Exchange {
  readonly method: string
  /** The path without the query. */
  readonly path: string
  /** The query as it was sent, without the question mark. */
  readonly query: string
  /** The caller's `X-Request-Id` if that is well formed, else a new one. */
  readonly requestId: string
  /** The address of the client, as the connection, a trusted proxy or another node tells it. */
  clientAddress: string
  /** Headers of the answer besides the common ones, by their names in lower case. They win over those, and the reply's own over both. */
  readonly headers: Record<string, string>
  /** Cookies that the answer sets. */
  readonly cookies: Array<Cookies.Cookie> = []
  /** True where the token of an app counts: at `/mcp`, and in the calls that it makes. Its audience is nothing else (RFC 8707). */
  isForApps: boolean
  /** The caller, once it is known. */
  principal: Principal | undefined = undefined

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    addressOf: (peer: string, forwarding: Forwarding) => string,
    /** Headers of every answer: names in lower case, each followed by its value. */
    readonly commonHeaders: ReadonlyArray<string>,
    /** Calls the routes of this process, for a door that is a client of them. */
    readonly inProcess: InProcess
  ) {
    const { method = "" } = request
    // A client may name the whole address (RFC 9112, 3.2.2).
    const url = (request.url ?? "").replace(/^https?:\/\/[^/?#]*/i, "")
    const queryAt = url.indexOf("?")
    this.method = method
    this.path = queryAt === -1 ? url : url.slice(0, queryAt)
    this.query = queryAt === -1 ? "" : url.slice(queryAt + 1)
    const given = this.header("x-request-id")
    this.requestId = given !== undefined && wellFormed.test(given) ? given : randomUUID()
    this.clientAddress = addressOf(request.socket.remoteAddress ?? "unknown", {
      forwardedFor: this.header("x-forwarded-for"),
      forwarded: this.header("forwarded")
    })
    this.isForApps = isOfDoor(request.socket)
    this.headers = { "x-request-id": this.requestId }
  }

  /** A header of the request, by its name in lower case. */
  header(name: string): string | undefined {
    const value = this.request.headers[name]
    // Node makes a list of `Set-Cookie` alone, which is no header of requests.
    return typeof value === "string" ? value : undefined
  }

  /** A cookie of the request. */
  cookie(name: string): string | undefined {
    const header = this.header("cookie")
    return header === undefined ? undefined : Cookies.parseHeader(header)[name]
  }
}

const isOfDoor = (socket: object): boolean => "isOfDoor" in socket && socket.isOfDoor === true

const wellFormed = /^[\w.-]{1,128}$/
