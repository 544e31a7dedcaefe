import type { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import type { Destinations } from "./WayOut.js"

const httpsPort = 443

interface Entry {
  readonly matches: (host: string) => boolean
  readonly port: number
}

const entryOf = (text: string): Entry => {
  const [name = "", port] = text.split(":")
  return {
    matches: name.startsWith("*.") ? (host) => host.endsWith(name.slice(1)) : (host) => host === name,
    port: port === undefined ? httpsPort : Number(port)
  }
}

const refused = (host: string, port: number, field: string): string =>
  `${host}:${port} is not among the hosts that the project allows: name it in the ${field} of its spec.`

/** These places and the gateway of a model, which an agent reaches whatever its project allows. */
export const withGateway = (gateway: URL, others: Destinations | undefined): Destinations => {
  const gatewayPort = Number(gateway.port || (gateway.protocol === "http:" ? 80 : httpsPort))
  return {
    // Private hosts are then those alone that the operator allows and that are named here.
    privateHosts: others?.privateHosts ?? true,
    refusal: (host, port) =>
      host === gateway.hostname && port === gatewayPort
        ? undefined
        : others === undefined
          ? refused(host, port, "network")
          : others.refusal(host, port)
  }
}

/** The places that a field of a spec allows its agents, or its setup, to connect to. Undefined where it allows none. */
export const destinationsOf = (
  access: NetworkAccess,
  field: "network" | "setup_network" = "network"
): Destinations | undefined => {
  if (access === "none") return undefined
  if (access === "open") return { privateHosts: false, refusal: () => undefined }
  const entries = access.map(entryOf)
  return {
    // A member who may publish a spec names a private host on purpose, and the operator has to allow it as well.
    privateHosts: true,
    refusal: (host, port) =>
      entries.some((entry) => entry.port === port && entry.matches(host)) ? undefined : refused(host, port, field)
  }
}
