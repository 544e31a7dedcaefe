import dns from "node:dns"
import { isIP } from "node:net"
import { Effect } from "effect"
import { allowedBy, isPublic } from "./Address.js"
import { AddressRefused, publicOnly } from "./AddressRefused.js"
import { type GuardOptions, goesDirect } from "./Dial.js"
import { EgressFailed } from "./EgressTunnel.js"

/**
 * The address to connect to, for a program that connects by itself: it is looked up once, and the program gets it in place of the name. It
 * fails where the proxy of the operator is the way out, because such a program does not use it.
 */
export const checkedAddress = (
  guard: GuardOptions,
  host: string,
  port: number
): Effect.Effect<string, AddressRefused | EgressFailed | NodeJS.ErrnoException> =>
  Effect.async((resume) => {
    const lookup = guard.lookup ?? dns.lookup
    const isAllowed = allowedBy(guard.allowPrivateHosts)(host, port)
    const refusal = new AddressRefused("not_public", host, port)
    if (isIP(host) !== 0 && !isAllowed && !isPublic(host)) return resume(Effect.fail(refusal))
    if (!goesDirect(guard.egress)(host, port)) return resume(Effect.fail(noProxyForSsh(host)))
    if (isIP(host) !== 0) return resume(Effect.succeed(host))
    const checked = isAllowed ? lookup : publicOnly(lookup, refusal)
    checked(host, { all: true }, (error, found) => {
      const first = typeof found === "string" ? found : found?.[0]?.address
      if (error !== null) resume(Effect.fail(error))
      else resume(first === undefined ? Effect.fail(refusal) : Effect.succeed(first))
    })
  })

const noProxyForSsh = (host: string) =>
  new EgressFailed(
    `SSH does not go through the proxy of REINS_EGRESS_PROXY: use the https URL of the repository, or have the operator name ${host} in REINS_EGRESS_DIRECT.`
  )
