import ipaddr from "ipaddr.js"

/**
 * The IPv6 addresses that are allocated to the public Internet. All others are special, even those that the library has no name for (`::/96`).
 */
const globalUnicast = ipaddr.parseCIDR("2000::/3")

/**
 * True for an IP address of the public Internet. False for loopback, private, link-local, multicast, reserved and translated addresses, for an
 * IPv6 address that stands for such an IPv4 one, and for a text that is no address.
 */
export const isPublic = (address: string): boolean => {
  // The library takes `::1.2.3.4` for a mapped address, which it is not. A URL writes it in its true form.
  const plain =
    address.includes(":") && URL.canParse(`http://[${address}]`) ? hostOf(new URL(`http://[${address}]`)) : address
  if (!ipaddr.isValid(plain)) return false
  const parsed = ipaddr.process(plain)
  if (parsed.range() !== "unicast") return false
  return parsed.kind() === "ipv4" || parsed.match(globalUnicast)
}

/** True for a name or an address of this machine's loopback. */
export const isLoopback = (host: string): boolean =>
  /^(?:.+\.)?localhost$/i.test(host) || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback")

/** The name or address of a URL's host, without the brackets of IPv6. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1")

/** The port that a URL leads to. */
export const portOf = (url: URL): number => Number(url.port || (url.protocol === "https:" ? 443 : 80))

interface AllowedHost {
  readonly host: string
  readonly port: number | undefined
}

const entryOf = (text: string): ReadonlyArray<AllowedHost> => {
  const authority = ipaddr.IPv6.isValid(text) ? `[${text}]` : text
  if (!/^[^/?#@\s]+$/.test(authority) || !URL.canParse(`http://${authority}`)) return []
  const port = /:(\d+)$/.exec(authority)?.[1]
  return [{ host: hostOf(new URL(`http://${authority}`)), port: port === undefined ? undefined : Number(port) }]
}

/** True for a valid entry of a list of allowed hosts: `*`, a host, or `host:port`. */
export const isAllowedHost = (text: string): boolean => text === "*" || entryOf(text).length === 1

/**
 * True when an operator's list names a host, by the name or address that a URL has for it. An entry without a port allows every port, and `*`
 * allows every host. An entry that cannot be read allows none.
 */
export const allowedBy = (list: ReadonlyArray<string>): ((host: string, port: number) => boolean) => {
  if (list.includes("*")) return () => true
  const entries = list.flatMap(entryOf)
  return (host, port) =>
    entries.some((entry) => entry.host === host.toLowerCase() && (entry.port === undefined || entry.port === port))
}
