/** The most addresses of a client, and the most characters of one. */
export const mostRedirects = 10
const longestRedirect = 2000

const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/**
 * Schemes that a browser or an operating system reads by itself, so that no app gets the answer. A name with a dot belongs to an app (RFC 8252, 7.1),
 * but for those of the systems themselves.
 */
const readByOthers: ReadonlySet<string> = new Set(
  (
    "about acap afp app-settings applescript attachment blob brave browser cap chrome cid content data dav dns edge eudora facetime " +
    "facetime-audio feed file filesystem finger firefox ftp ftps geo git gopher help hcp http https icap im imap info intent irc irc6 ircs " +
    "itms itms-apps itms-appss itms-services iris jar javascript ldap ldaps livescript local magnet mailto maps market message mhtml mid mk " +
    "mms mmsto mocha moz-icon msrp news nfs nntp ocsp opera pop prefs prefs-root res resource rdp rlogin rsync rtmp rtsp rtsps search " +
    "search-ms sftp shell shortcuts shttp sip sips smb sms smsto snmp ssh stun stuns svn tel telnet tftp turn turns urn vbscript " +
    "view-source vivaldi vnc wais webcal ws wss wyciwyg xmpp"
  ).split(" ")
)

/** Beginnings of the schemes of browsers, their extensions and systems. `web+` belongs to web pages. */
const ofOthers =
  /^(?:android-|chrome-|devtools|edge-|microsoft[.-]|moz-|ms-|safari-|web\+|webkit-|x-apple|x-man-page|com\.apple\.|com\.android\.)/

const reversedName = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:$/

/** True for an address of an app on a machine. One without a dot in its scheme has a path or a host: `mailto:` and its like have neither. */
const isOfApp = (text: string, protocol: string): boolean =>
  !readByOthers.has(protocol.slice(0, -1)) &&
  !ofOthers.test(protocol) &&
  (reversedName.test(protocol) ? text.startsWith(protocol) : text.startsWith(`${protocol}/`))

/** Printable ASCII without what a header, a quoted value or a browser's parser reads otherwise. */
const plain = /^[\x21-\x7e]+$/
const misread = /["'<>\\^`{|}]/

/**
 * True for an address that an app may be answered at: https, a loopback address, or the scheme of an app. Schemes that browsers and systems read by
 * themselves are of no app. None has a fragment, a name or a password. It has to be written as browsers write it, so that the text that is compared is
 * the address that is opened.
 */
export const isAppRedirect = (text: string): boolean => {
  if (text.length > longestRedirect || !plain.test(text) || misread.test(text) || text.includes("#")) return false
  if (!URL.canParse(text)) return false
  const { host, hostname, password, protocol, username } = new URL(text)
  if (username !== "" || password !== "") return false
  if (protocol === "https:") return isWrittenOut(text, protocol, host)
  if (protocol === "http:") return loopback.has(hostname) && isWrittenOut(text, protocol, host)
  return isOfApp(text, protocol)
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
