import type { NetworkAccess } from "../domain/NetworkAccess.js"
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

const refused = (host: string, port: number): string =>
  `${host}:${port} is not among the hosts that the project allows: name it in the network of its spec.`

/** The places that the agents of a project may connect to. Undefined where they may connect to none. */
export const destinationsOf = (access: NetworkAccess): Destinations | undefined => {
  if (access === "none") return undefined
  if (access === "open") return { privateHosts: false, refusal: () => undefined }
  const entries = access.map(entryOf)
  return {
    // A member who may publish a spec names a private host on purpose, and the operator has to allow it as well.
    privateHosts: true,
    refusal: (host, port) =>
      entries.some((entry) => entry.port === port && entry.matches(host)) ? undefined : refused(host, port)
  }
}
