/** The most addresses of a client, and the most characters of one. */
export const mostRedirects = 10
const longestRedirect = 2000

const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/** Schemes of known apps. Others need a dot, as the reversed name of a domain has (RFC 8252, 7.1), so that no scheme of browsers fits. */
const appSchemes: ReadonlySet<string> = new Set([
  "cursor:",
  "vscode:",
  "vscode-insiders:",
  "vscodium:",
  "windsurf:",
  "zed:"
])

const reversedName = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:$/

/** Printable ASCII without what a header, a quoted value or a browser's parser reads otherwise. */
const plain = /^[\x21-\x7e]+$/
const misread = /["'<>\\^`{|}]/

/**
 * True for an address that an app may be answered at: https, a loopback address, or the scheme of an app. None has a fragment, a name or a password. It
 * has to be written as browsers write it, so that the text that is compared is the address that is opened.
 */
export const isAppRedirect = (text: string): boolean => {
  if (text.length > longestRedirect || !plain.test(text) || misread.test(text) || text.includes("#")) return false
  if (!URL.canParse(text)) return false
  const { host, hostname, password, protocol, username } = new URL(text)
  if (username !== "" || password !== "") return false
  if (protocol === "https:") return isWrittenOut(text, protocol, host)
  if (protocol === "http:") return loopback.has(hostname) && isWrittenOut(text, protocol, host)
  return (appSchemes.has(protocol) || reversedName.test(protocol)) && text.startsWith(protocol)
}

/** Browsers read `https:///a`, `https://2` and `https://%61` as addresses that their texts do not show. */
const isWrittenOut = (text: string, protocol: string, host: string): boolean =>
  /^https?:\/\/([^/?]+)/.exec(text)?.[1] === host && text.startsWith(protocol)

const isLoopbackUrl = ({ hostname, protocol }: URL): boolean => protocol === "http:" && loopback.has(hostname)

/**
 * True when a client may be answered at an address. Addresses are compared as text. Of a loopback address the port is free (RFC 8252, 7.3), and
 * `localhost` counts as one, because clients register it.
 */
export const fitsRedirect = (asked: string, known: ReadonlyArray<string>): boolean =>
  isAppRedirect(asked) && known.some((one) => one === asked || (isAppRedirect(one) && isSameProgram(asked, one)))

const isSameProgram = (asked: string, known: string): boolean => {
  const [a, b] = [new URL(asked), new URL(known)]
  return (
    isLoopbackUrl(a) &&
    isLoopbackUrl(b) &&
    a.hostname === b.hostname &&
    a.pathname === b.pathname &&
    a.search === b.search
  )
}

/** A redirect for people: the host of a web page, a program on their own machine, or the scheme of an app. */
export type RedirectPlace =
  | { readonly kind: "host"; readonly name: string }
  | { readonly kind: "machine" }
  | { readonly kind: "app"; readonly name: string }

export const placeOf = (redirect: string): RedirectPlace => {
  const url = new URL(redirect)
  if (isLoopbackUrl(url)) return { kind: "machine" }
  return url.protocol === "https:" ? { kind: "host", name: url.host } : { kind: "app", name: url.protocol.slice(0, -1) }
}
