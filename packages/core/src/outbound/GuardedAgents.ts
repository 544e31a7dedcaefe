import dns from "node:dns"
import http, { type ClientRequest, type ClientRequestArgs } from "node:http"
import https, { type RequestOptions } from "node:https"
import { isIP, type LookupFunction, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { allowedBy, isPublic } from "./Address.js"
import { AddressRefused, publicOnly } from "./AddressRefused.js"

export { AddressRefused } from "./AddressRefused.js"

/** The private hosts that are allowed, and the lookup of names. */
export interface GuardOptions {
  readonly allowPrivateHosts: ReadonlyArray<string>
  readonly lookup?: LookupFunction
}

/** Agents that connect only to allowed hosts. They check the address of each connection that they make. */
export interface GuardedAgents {
  readonly http: http.Agent
  readonly https: https.Agent
}

/** The time limit for connecting, TLS included. */
export const connectTimeoutMs = 10_000

/** Calls `late` when a new connection for the request takes longer than the limit. */
export const limitConnecting = (request: ClientRequest, late: () => void): void => {
  request.once("socket", (socket) => {
    if (!socket.connecting) return
    const timer = setTimeout(late, connectTimeoutMs).unref()
    const stop = () => clearTimeout(timer)
    socket.once(request.protocol === "https:" ? "secureConnect" : "connect", stop).once("close", stop)
  })
}

type Created = (error: Error | null, stream: Duplex) => void
type Allows = (host: string, port: number) => boolean

/**
 * Agents for plain HTTP and for TLS. A host of the list may have any address and needs no TLS. Any other host needs TLS and a public address. A
 * refused request fails with `AddressRefused` before a byte is sent.
 */
export const guardedAgents = (guard: GuardOptions, options: http.AgentOptions): GuardedAgents => {
  const allows = allowedBy(guard.allowPrivateHosts)
  const lookup = guard.lookup ?? dns.lookup
  return { http: new PlainAgent(allows, lookup, options), https: new TlsAgent(allows, lookup, options) }
}

const targetOf = (options: ClientRequestArgs, defaultPort: number) => ({
  host: options.host ?? "localhost",
  port: Number(options.port ?? defaultPort)
})

const refuse = (error: AddressRefused, created: Created | undefined): undefined => {
  // The agent reads the error only. This socket was never connected.
  created?.(error, new Socket())
}

class PlainAgent extends http.Agent {
  constructor(
    private readonly allows: Allows,
    private readonly lookup: LookupFunction,
    options: http.AgentOptions
  ) {
    super(options)
  }

  override createConnection(options: ClientRequestArgs, created?: Created) {
    const { host, port } = targetOf(options, 80)
    return this.allows(host, port)
      ? super.createConnection({ ...options, lookup: this.lookup }, created)
      : refuse(new AddressRefused("not_https", host, port), created)
  }
}

class TlsAgent extends https.Agent {
  constructor(
    private readonly allows: Allows,
    private readonly lookup: LookupFunction,
    options: http.AgentOptions
  ) {
    super(options)
  }

  override createConnection(options: RequestOptions, created?: Created) {
    const { host, port } = targetOf(options, 443)
    if (this.allows(host, port)) return super.createConnection({ ...options, lookup: this.lookup }, created)
    const refusal = new AddressRefused("not_public", host, port)
    // An address is not looked up, so it is checked here.
    if (isIP(host) !== 0 && !isPublic(host)) return refuse(refusal, created)
    const socket = super.createConnection({ ...options, lookup: publicOnly(this.lookup, refusal) }, created)
    // This listener runs before those that write, so nothing is sent to an address that is not public.
    if (socket instanceof Socket) {
      socket.prependOnceListener("connect", () => {
        if (!isPublic(socket.remoteAddress ?? "")) socket.destroy(refusal)
      })
    }
    return socket
  }
}
