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

/** The forwarding headers of a request, as it came. */
export interface Forwarding {
  /** `X-Forwarded-For`: addresses, each with a port or in brackets as some proxies write them. */
  readonly forwardedFor?: string | undefined
  /** `Forwarded` of RFC 7239, which is read where there is no `X-Forwarded-For`. */
  readonly forwarded?: string | undefined
}

/** The address of one hop: `203.0.113.7`, `203.0.113.7:50412`, `2001:db8::7`, `[2001:db8::7]` or `[2001:db8::7]:50412`. */
const addressOf = (hop: string): string | undefined => {
  const [, inBrackets, withPort] = /^(?:\[([^\]]+)\](?::[\w.-]*)?|([\d.]+)(?::\d*)?)$/.exec(hop) ?? []
  const address = inBrackets ?? withPort ?? hop
  // A zone is a name of the machine that wrote it.
  const unzoned = address.split("%")[0] ?? ""
  return isIP(unzoned) === 0 ? undefined : unzoned
}

/** The elements of a `Forwarded` header. A quote that does not end parts elements as a comma does. */
const elementsOf = (header: string): ReadonlyArray<string> => {
  const [quoted, plainText] = [/"(?:\\.|[^"\\])*"/y, /[^,"]+/y]
  const elements: Array<string> = []
  let element = ""
  // Where one quote does not end, no later one does.
  let isClosed = true
  for (let at = 0; at < header.length; ) {
    const form = header[at] === '"' && isClosed ? quoted : plainText
    form.lastIndex = at
    const found = form.exec(header)?.[0] ?? ""
    if (found === "") {
      if (form === quoted) {
        isClosed = false
        continue
      }
      elements.push(element)
    }
    element = found === "" ? "" : element + found
    at += found.length || 1
  }
  return [...elements, element].filter((each) => each !== "")
}

/** The value of `for=` in an element; undefined where it has none. */
const forIn = (element: string): string | undefined =>
  element
    .split(";")
    .map((pair) => [pair.slice(0, pair.indexOf("=")).trim().toLowerCase(), pair.slice(pair.indexOf("=") + 1).trim()])
    .filter(([name]) => name === "for")
    .map(([, value = ""]) => (/^".*"$/.test(value) ? value.slice(1, -1).replaceAll(/\\(.)/g, "$1") : value))
    .find((value) => !/[\s,"]/.test(value))

/** The hops that a proxy has noted, oldest first; what is no `for=` of an element is an empty hop, so that the number of hops stays true. */
const hopsOf = ({ forwarded, forwardedFor }: Forwarding): ReadonlyArray<string> => {
  if (forwardedFor !== undefined) return forwardedFor.split(",").map((hop) => hop.trim())
  return elementsOf(forwarded ?? "").map((element) => forIn(element) ?? "")
}

/**
 * Finds the address of a client: the peer of its connection, or, when that is one of the proxies, the last address of its
 * `X-Forwarded-For` or `Forwarded` that is none of them. The client wrote the part before that address, so that part is not believed.
 * `unreadable` hears of a hop of a trusted proxy that is no address; the client is then the proxy that named it.
 */
export const clientAddressBehind = (proxies: ReadonlyArray<string>, unreadable: (hop: string) => void = () => {}) => {
  const trusted = new BlockList()
  for (const proxy of proxies) {
    const [address = "", prefix] = proxy.split("/")
    if (prefix === undefined) trusted.addAddress(address, familyOf(address))
    else trusted.addSubnet(address, Number(prefix), familyOf(address))
  }
  const isProxy = (address: string) => trusted.check(address, familyOf(address))
  return (peer: string, forwarding: Forwarding): string => {
    if (proxies.length === 0) return plain(peer)
    const hops = [...hopsOf(forwarding)]
    let client = peer
    while (hops.length > 0 && isIP(client) !== 0 && isProxy(client)) {
      const hop = hops.pop() ?? ""
      const address = addressOf(hop)
      if (address === undefined) {
        unreadable(hop)
        break
      }
      client = address
    }
    return plain(client)
  }
}
