import { BlockList, isIP } from "node:net"

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4")

/** True for an IP address, or a network as in `10.0.0.0/8`. */
export const isNetwork = (text: string): boolean => {
  const [, address = "", prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && (prefix === undefined || Number(prefix) <= (family === 4 ? 32 : 128))
}

/** An IPv4 address as such. A socket that listens on both families writes it in the form of IPv6. */
const plain = (address: string): string => /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address

/**
 * Finds the address of a client: the peer of its connection, or, when that is one of the proxies, the last address of its
 * `X-Forwarded-For` that is none of them. The client wrote the part before that address, so that part is not believed.
 */
export const clientAddressBehind = (proxies: ReadonlyArray<string>) => {
  const trusted = new BlockList()
  for (const proxy of proxies) {
    const [address = "", prefix] = proxy.split("/")
    if (prefix === undefined) trusted.addAddress(address, familyOf(address))
    else trusted.addSubnet(address, Number(prefix), familyOf(address))
  }
  const isProxy = (address: string) => isIP(address) !== 0 && trusted.check(address, familyOf(address))
  return (peer: string, forwardedFor: string | undefined): string => {
    if (forwardedFor === undefined || proxies.length === 0) return plain(peer)
    const hops = [...forwardedFor.split(",").map((hop) => hop.trim()), peer]
    let client = peer
    while (hops.length > 0 && isProxy(client)) {
      const hop = hops.pop() ?? ""
      if (isIP(hop) === 0) break
      client = hop
    }
    return plain(client)
  }
}
