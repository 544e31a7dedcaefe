import dns from "node:dns"
import { connect, isIP, Socket } from "node:net"
import { Effect } from "effect"
import { allowedBy, isPublic } from "./Address.js"
import { AddressRefused, publicOnly } from "./AddressRefused.js"
import type { GuardOptions } from "./GuardedAgents.js"

/** Begins a connection. The socket fails with `AddressRefused` before a byte is sent. */
export type Connect = (host: string, port: number) => Socket

/**
 * Connects to the hosts of the list, whatever their address, and to any other host at a public address. A name is looked up once, and the
 * address that was checked is the one that is connected.
 */
export const guardedConnect = (guard: GuardOptions): Connect => {
  const allows = allowedBy(guard.allowPrivateHosts)
  const lookup = guard.lookup ?? dns.lookup
  return (host, port) => {
    if (allows(host, port)) return connect({ host, port, lookup })
    const refusal = new AddressRefused("not_public", host, port)
    // An address is not looked up, so it is checked here.
    if (isIP(host) !== 0 && !isPublic(host)) return new Socket().destroy(refusal)
    const socket = connect({ host, port, lookup: publicOnly(lookup, refusal) })
    // This listener runs before those that write, so nothing is sent to an address that is not public.
    socket.prependOnceListener("connect", () => {
      if (!isPublic(socket.remoteAddress ?? "")) socket.destroy(refusal)
    })
    return socket
  }
}

/** The address to connect to, for a program that connects by itself: it is looked up once, and the program gets it in place of the name. */
export const checkedAddress = (
  guard: GuardOptions,
  host: string,
  port: number
): Effect.Effect<string, AddressRefused | NodeJS.ErrnoException> =>
  Effect.async((resume) => {
    const lookup = guard.lookup ?? dns.lookup
    const isAllowed = allowedBy(guard.allowPrivateHosts)(host, port)
    const refusal = new AddressRefused("not_public", host, port)
    if (isIP(host) !== 0) return resume(isAllowed || isPublic(host) ? Effect.succeed(host) : Effect.fail(refusal))
    const checked = isAllowed ? lookup : publicOnly(lookup, refusal)
    checked(host, { all: true }, (error, found) => {
      const first = typeof found === "string" ? found : found?.[0]?.address
      if (error !== null) resume(Effect.fail(error))
      else resume(first === undefined ? Effect.fail(refusal) : Effect.succeed(first))
    })
  })
