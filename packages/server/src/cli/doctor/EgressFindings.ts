import { npmRegistry } from "@reins/machine/harness/Install"
import { hostOf, portOf } from "@reins/machine/outbound/Address"
import { goesDirect, throughEgress } from "@reins/machine/outbound/Dial"
import { EgressFailed } from "@reins/machine/outbound/EgressTunnel"
import { Effect, Redacted } from "effect"
import type { Config } from "../../Config.js"
import { type Finding, fail, ok, warn } from "./Finding.js"

const check = "egress proxy"

/** Has the proxy of the operator connect to the registry of packages, as an installation of an agent does. Nothing without a proxy. */
export const egressFindings = (config: Config): Effect.Effect<ReadonlyArray<Finding>> => {
  const { egress } = config
  if (egress === null) return Effect.succeed([])
  const proxy = new URL(Redacted.value(egress.proxy)).host
  return Effect.gen(function* () {
    const registry = new URL(yield* npmRegistry)
    // A registry that is reached without the proxy says nothing of it, so the public one is asked for.
    const isDirect = goesDirect(egress)(hostOf(registry), portOf(registry))
    const asked = isDirect ? new URL("https://registry.npmjs.org") : registry
    const place = `${asked.hostname}:${portOf(asked)}`
    const connect = throughEgress({ allowPrivateHosts: ["*"], egress }, egress)
    return yield* Effect.promise(() =>
      connect(hostOf(asked), portOf(asked)).then(
        (socket) => {
          socket.destroy()
          return ok(check, `${proxy} connects to ${place}`)
        },
        (error) => findingOf(error, proxy)
      )
    )
  }).pipe(
    Effect.orDie,
    Effect.map((finding) => [finding])
  )
}

const findingOf = (error: unknown, proxy: string): Finding => {
  const message =
    error instanceof EgressFailed ? error.message : `The proxy ${proxy} (REINS_EGRESS_PROXY) took too long.`
  const status = error instanceof EgressFailed ? error.status : undefined
  return status === undefined || status === 407
    ? fail(check, message, "Correct REINS_EGRESS_PROXY, or have the proxy answer.")
    : warn(check, message, "It answers, but reins harnesses install needs that host for the packages of agents.")
}
