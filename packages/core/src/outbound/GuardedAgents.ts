import dns from "node:dns"
import http, { type ClientRequest, type ClientRequestArgs } from "node:http"
import https, { type RequestOptions } from "node:https"
import { isIP, type LookupFunction, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { allowedBy, isPublic } from "./Address.js"

/** A connection that is not made: without TLS, or to an address that is not public. `message` says how an operator allows it. */
export class AddressRefused extends Error {
  readonly code = "ERR_ADDRESS_REFUSED"
  constructor(problem: "not_public" | "not_https", host: string, port: number) {
    const place = `${host.includes(":") ? `[${host}]` : host}:${port}`
    const why =
      problem === "not_public"
        ? `${place} is not on the public Internet, and this server connects to no other hosts`
        : `${place} is to be asked without TLS, and this server asks other hosts through https only`
    super(`${why} unless its operator allows them (REINS_ALLOW_PRIVATE_HOSTS=${place}).`)
  }
}

/** The private hosts that may be asked, and the lookup of names. */
export interface GuardOptions {
  readonly allowPrivateHosts: ReadonlyArray<string>
  readonly lookup?: LookupFunction
}

/** Agents that only connect where the service may. Each connection is checked on the address that it really has. */
export interface GuardedAgents {
  readonly http: http.Agent
  readonly https: https.Agent
}

/** The longest that connecting may take, with TLS. */
export const connectTimeoutMs = 10_000

/** Calls `late` when a request that needs a new connection does not have it in time. */
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
 * Agents for plain HTTP and for TLS. A host of the list may be anywhere and needs no TLS; any other is asked through TLS, on public
 * addresses only. What is refused fails the request with `AddressRefused` before a byte is sent.
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
  // The agent looks at the error alone; the socket was never connected.
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
    // An address is not looked up.
    if (isIP(host) !== 0 && !isPublic(host)) return refuse(refusal, created)
    const socket = super.createConnection({ ...options, lookup: publicOnly(this.lookup, refusal) }, created)
    // Before anything is sent: this listener comes before those that write.
    if (socket instanceof Socket) {
      socket.prependOnceListener("connect", () => {
        if (!isPublic(socket.remoteAddress ?? "")) socket.destroy(refusal)
      })
    }
    return socket
  }
}

/** Gives back what a name leads to if all of that is public: a name with a private address beside a public one is a trick. */
const publicOnly =
  (lookup: LookupFunction, refusal: AddressRefused): LookupFunction =>
  (name, options, found) =>
    lookup(name, { ...options, all: true }, (error, result, family) => {
      const addresses = typeof result === "string" ? [{ address: result, family: family ?? isIP(result) }] : result
      const [first] = addresses ?? []
      if (error !== null) found(error, [])
      else if (first === undefined || !addresses.every(({ address }) => isPublic(address))) found(refusal, [])
      else if (options.all === true) found(null, addresses)
      else found(null, first.address, first.family)
    })
