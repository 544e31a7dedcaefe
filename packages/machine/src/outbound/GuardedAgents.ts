import dns from "node:dns"
import http, { type ClientRequest, type ClientRequestArgs } from "node:http"
import https, { type RequestOptions } from "node:https"
import { isIP, type LookupFunction, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { allowedBy, isPublic } from "./Address.js"
import { AddressRefused, publicOnly } from "./AddressRefused.js"
import { type Connect, connectTimeoutMs, type GuardOptions, goesDirect, throughEgress } from "./Dial.js"

export { AddressRefused } from "./AddressRefused.js"

/** Agents that connect only to allowed hosts. They check the address of each connection that they make. */
export interface GuardedAgents {
  readonly http: http.Agent
  readonly https: https.Agent
}

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
  const { egress = null } = guard
  const isDirect = goesDirect(egress)
  const through = egress === null ? undefined : throughEgress(guard, egress)
  const ways: Ways = { allows, lookup, tunnel: (host, port) => (isDirect(host, port) ? undefined : through) }
  return { http: new PlainAgent(ways, options), https: new TlsAgent(ways, options) }
}

interface Ways {
  readonly allows: Allows
  readonly lookup: LookupFunction
  /** Connects through the proxy of the operator; undefined for a place that is connected directly. */
  readonly tunnel: (host: string, port: number) => Connect | undefined
}

const targetOf = (options: ClientRequestArgs, defaultPort: number) => ({
  host: options.host ?? "localhost",
  port: Number(options.port ?? defaultPort)
})

const refuse = (error: AddressRefused, created: Created | undefined): undefined => {
  // The agent reads the error only. This socket was never connected.
  created?.(error, new Socket())
}

const failing =
  (created: Created | undefined) =>
  (error: Error): void =>
    created?.(error, new Socket())

/** A request hears of this socket when it is connected, so the time of the handshake is limited here. */
const limitedHandshake = (socket: Duplex): Duplex => {
  const late = () => socket.destroy(Object.assign(new Error("the TLS handshake took too long"), { code: "ETIMEDOUT" }))
  const timer = setTimeout(late, connectTimeoutMs).unref()
  const stop = () => clearTimeout(timer)
  return socket.once("secureConnect", stop).once("close", stop)
}

class PlainAgent extends http.Agent {
  constructor(
    private readonly ways: Ways,
    options: http.AgentOptions
  ) {
    super(options)
  }

  override createConnection(options: ClientRequestArgs, created?: Created) {
    const { host, port } = targetOf(options, 80)
    const { allows, lookup, tunnel } = this.ways
    if (!allows(host, port)) return refuse(new AddressRefused("not_https", host, port), created)
    const connect = tunnel(host, port)
    if (connect === undefined) return super.createConnection({ ...options, lookup }, created)
    connect(host, port).then((socket) => created?.(null, socket), failing(created))
    return undefined
  }
}

class TlsAgent extends https.Agent {
  constructor(
    private readonly ways: Ways,
    options: http.AgentOptions
  ) {
    super(options)
  }

  override createConnection(options: RequestOptions, created?: Created) {
    const { host, port } = targetOf(options, 443)
    const { allows, lookup, tunnel } = this.ways
    const connect = tunnel(host, port)
    if (connect !== undefined) {
      const secured = (socket: Socket) =>
        limitedHandshake(super.createConnection(Object.assign({ ...options }, { socket })) ?? new Socket())
      connect(host, port).then((socket) => created?.(null, secured(socket)), failing(created))
      return undefined
    }
    if (allows(host, port)) return super.createConnection({ ...options, lookup }, created)
    const refusal = new AddressRefused("not_public", host, port)
    // An address is not looked up, so it is checked here.
    if (isIP(host) !== 0 && !isPublic(host)) return refuse(refusal, created)
    const socket = super.createConnection({ ...options, lookup: publicOnly(lookup, refusal) }, created)
    // This listener runs before those that write, so nothing is sent to an address that is not public.
    if (socket instanceof Socket) {
      socket.prependOnceListener("connect", () => {
        if (!isPublic(socket.remoteAddress ?? "")) socket.destroy(refusal)
      })
    }
    return socket
  }
}
