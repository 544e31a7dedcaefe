import dns from "node:dns"
import { connect, isIP, type LookupFunction, Socket } from "node:net"
import type { Egress } from "@reins/base/base/Egress"
import { allowedBy, isLoopback, isPublic } from "./Address.js"
import { AddressRefused, publicOnly } from "./AddressRefused.js"
import { EgressFailed, tunnelTo } from "./EgressTunnel.js"

/** The private hosts that are allowed, the lookup of names, and the proxy that is the way out. */
export interface GuardOptions {
  readonly allowPrivateHosts: ReadonlyArray<string>
  readonly lookup?: LookupFunction
  /** Null connects by itself. */
  readonly egress?: Egress | null
}

/** The time limit for connecting, TLS included. */
export const connectTimeoutMs = 10_000

/** Connects to a place, or fails with `AddressRefused` before a byte is sent. The connecting ends with the signal. */
export type Connect = (host: string, port: number, signal?: AbortSignal) => Promise<Socket>

/** True for a place that is connected without the proxy of the operator. */
export const goesDirect = (egress: Egress | null | undefined): ((host: string, port: number) => boolean) => {
  if (egress === null || egress === undefined) return () => true
  const isDirect = allowedBy(egress.direct)
  return (host, port) => isLoopback(host) || isDirect(host, port)
}

/** The addresses of a name; all of one kind come together, IPv4 first, because more proxies have it. */
const addressesOf = (lookup: LookupFunction, host: string): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) =>
    lookup(host, { all: true }, (error, found) => {
      if (error !== null) return reject(error)
      const addresses = typeof found === "string" ? [found] : found.map(({ address }) => address)
      resolve([...addresses].sort((one, other) => isIP(one) - isIP(other)))
    })
  )

/** Names that only a private network has. A proxy would look them up in its own. */
const isPrivateName = (host: string): boolean =>
  !host.includes(".") || /\.(?:internal|intranet|local|localdomain|lan|corp|home|home\.arpa|private)$/i.test(host)

const unknownName = (host: string, error: unknown): EgressFailed => {
  const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : ""
  return new EgressFailed(
    `The name ${host} cannot be looked up here${code}. REINS_EGRESS_LOOKUP=proxy leaves names to the proxy.`
  )
}

/** The places that the proxy may be asked for in the stead of a host, best first. */
const targetsOf = async (
  guard: GuardOptions,
  egress: Egress,
  host: string,
  port: number
): Promise<ReadonlyArray<string>> => {
  const isAllowed = allowedBy(guard.allowPrivateHosts)(host, port)
  const refusal = new AddressRefused("not_public", host, port)
  const lookup = guard.lookup ?? dns.lookup
  if (isIP(host) !== 0) {
    if (!isAllowed && !isPublic(host)) throw refusal
    return [host]
  }
  if (egress.lookup === "proxy") {
    if (!isAllowed && isPrivateName(host)) throw refusal
    return [host]
  }
  try {
    return await addressesOf(isAllowed ? lookup : publicOnly(lookup, refusal), host)
  } catch (error) {
    if (error instanceof AddressRefused) throw error
    // The operator allows this host at any address, so the proxy may look it up.
    if (isAllowed) return [host]
    throw unknownName(host, error)
  }
}

/** The most addresses of one host that are tried. */
const mostTries = 3

/** Connects through the proxy of the operator. The guard holds for the place, not for the proxy. */
export const throughEgress =
  (guard: GuardOptions, egress: Egress): Connect =>
  async (host, port, given) => {
    const late = AbortSignal.timeout(connectTimeoutMs)
    const signal = given === undefined ? late : AbortSignal.any([late, given])
    const targets = (await targetsOf(guard, egress, host, port)).slice(0, mostTries)
    let last: unknown
    for (const target of targets) {
      if (isLoopback(target)) return connected(connect({ host: target, port }), signal)
      try {
        return await tunnelTo(egress, target, port, signal)
      } catch (error) {
        last = error
        if (!(error instanceof EgressFailed && error.mayTryAnother)) throw error
      }
    }
    throw last
  }

/** Connects by itself. */
const directly = (guard: GuardOptions): Connect => {
  const allows = allowedBy(guard.allowPrivateHosts)
  const lookup = guard.lookup ?? dns.lookup
  return (host, port, signal) => {
    if (allows(host, port)) return connected(connect({ host, port, lookup }), signal)
    const refusal = new AddressRefused("not_public", host, port)
    // An address is not looked up, so it is checked here.
    if (isIP(host) !== 0 && !isPublic(host)) return connected(new Socket().destroy(refusal), signal)
    const socket = connect({ host, port, lookup: publicOnly(lookup, refusal) })
    // This listener runs before those that write, so nothing is sent to an address that is not public.
    socket.prependOnceListener("connect", () => {
      if (!isPublic(socket.remoteAddress ?? "")) socket.destroy(refusal)
    })
    return connected(socket, signal)
  }
}

/** Waits until a socket is connected. One that takes too long, or that nobody waits for, is destroyed. */
const connected = (socket: Socket, signal?: AbortSignal): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const stop = () => socket.destroy(Object.assign(new Error("connecting took too long"), { code: "ETIMEDOUT" }))
    const timer = setTimeout(stop, connectTimeoutMs)
    signal?.addEventListener("abort", stop)
    const settle = () => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", stop)
    }
    socket.once("error", reject)
    socket.once("close", settle)
    socket.once("connect", () => {
      settle()
      if (socket.destroyed) return
      socket.off("error", reject)
      resolve(socket)
    })
    if (signal?.aborted === true) stop()
  })

/**
 * Connects to the hosts of the list, whatever their address, and to any other host at a public address. A name is looked up once, and the
 * address that was checked is the one that is connected, by the proxy where there is one.
 */
export const guardedConnect = (guard: GuardOptions): Connect => {
  const { egress = null } = guard
  const direct = directly(guard)
  if (egress === null) return direct
  const isDirect = goesDirect(egress)
  const through = throughEgress(guard, egress)
  return (host, port, signal) => (isDirect(host, port) ? direct : through)(host, port, signal)
}
