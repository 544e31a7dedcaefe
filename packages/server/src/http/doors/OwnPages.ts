import type { Exchange } from "../Exchange.js"

/** A name of this machine alone, with any port. A page that leads a browser here by a name of its own cannot have one of these. */
const loopback = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i

/** True for the host of the public URL, and for one of this machine alone. Compared as text, because a foreign text may be no host at all. */
export const isOwnHost = (exchange: Exchange, publicUrl: URL): boolean => {
  const host = exchange.header("host") ?? ""
  return host.toLowerCase() === publicUrl.host || loopback.test(host)
}

/** True for a request of no page, and for one of a page of this service. */
export const isOwnOrigin = (exchange: Exchange, publicUrl: URL): boolean => {
  const origin = exchange.header("origin")
  if (origin === undefined || origin === publicUrl.origin) return true
  const host = exchange.header("host") ?? ""
  return loopback.test(host) && origin === `http://${host}`
}
