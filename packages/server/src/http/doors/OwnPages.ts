import { foreignName } from "@reins/base/base/ForeignText"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { Exchange } from "../Exchange.js"

/** The names of this machine alone. A page that leads a browser here by a name of its own cannot have one of these. */
const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"])

/** The longest name of a host that a refusal repeats. */
const longestName = 255

/**
 * Refuses a page of another site, and one that leads a browser here by a name of its own. The name decides, and not the port: proxies leave the port out
 * or name the usual one, and a page that leads here has another name.
 */
export const refusalOfPage = (exchange: Exchange, publicUrl: URL): ReinsError<"forbidden"> | undefined => {
  const given = exchange.header("host") ?? ""
  const name = nameOf(given)
  if (name === undefined || (name !== publicUrl.hostname && !loopback.has(name))) return foreignHost(given, publicUrl)
  const origin = exchange.header("origin")
  return origin === undefined || origin === publicUrl.origin || (loopback.has(name) && origin === `http://${given}`)
    ? undefined
    : foreignOrigin(origin, publicUrl)
}

/** The name of a host as URLs write it, without its port and the dot of its root; undefined for a text that is no host. */
const nameOf = (host: string): string | undefined => {
  const [, name] = /^([a-z0-9._-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i.exec(host) ?? []
  const url = `http://${name?.replace(/\.$/, "")}`
  return name !== undefined && URL.canParse(url) ? new URL(url).hostname : undefined
}

const foreignHost = (host: string, { host: own }: URL) =>
  new ReinsError({
    code: "forbidden",
    message:
      `This server is ${own}, and the request names the host ${quoted(host)}. Open it at ${own}. ` +
      "Where a proxy stands in front, let it pass the Host header on, or set REINS_PUBLIC_URL to the address that people open."
  })

const foreignOrigin = (origin: string, publicUrl: URL) =>
  new ReinsError({
    code: "forbidden",
    message:
      `This request comes from a page of ${quoted(origin)}, which may not use this server. ` +
      `Pages of ${publicUrl.origin} may. Set REINS_PUBLIC_URL to the address that people open.`
  })

const quoted = (text: string): string => JSON.stringify(foreignName(text, longestName))

/** The address of the console, as people open it: the public URL may have the path of a proxy. */
export const consoleUrlOf = ({ origin, pathname }: URL): string => `${origin}${pathname.replace(/(?<!\/)\/+$/, "")}/ui`
