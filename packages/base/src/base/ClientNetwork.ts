import ipaddr from "ipaddr.js"

/**
 * The network that one client has at its command, as limits count clients: an IPv4 address, or the first half of an IPv6 address, the rest of
 * which every machine chooses as it likes. A text that is no address stands for itself.
 */
export const clientNetwork = (address: string): string => {
  const plain = address.split("%", 1)[0] ?? ""
  if (!ipaddr.isValid(plain)) return address
  const parsed = ipaddr.process(plain)
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString()
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`
}
