import { realpathSync, statSync } from "node:fs"
import { isIP } from "node:net"
import { relative, sep } from "node:path"
import { builtInExecutors } from "@reins/base/base/CoreConfig"
import { vapidKeysOf } from "@reins/core/push/VapidKeys"
import { namesSeveralHosts, severalHosts } from "@reins/core/store/PgHosts"
import { isAllowedHost } from "@reins/machine/outbound/Address"
import { Schema } from "effect"
import { isNetwork } from "./http/ClientAddress.js"

// The forms of settings, as they are read from texts.

/** A switch. */
export const Flag = Schema.transform(Schema.Literal("true", "false", "on", "off"), Schema.Boolean, {
  strict: true,
  decode: (text) => text === "true" || text === "on",
  encode: (value) => (value ? "on" : "off")
})
/** A number in the digits of everyday, because a program that starts the service writes no other ones. */
const digits = (form: RegExp) => Schema.String.pipe(Schema.pattern(form), Schema.compose(Schema.NumberFromString))
/** A whole number between two bounds. */
export const Whole = (least: number, most: number) => digits(/^\d{1,16}$/).pipe(Schema.between(least, most))
/** A number between two bounds, also in parts. */
export const Decimal = (least: number, most: number) =>
  digits(/^\d{1,16}(?:\.\d{1,9})?$/).pipe(Schema.between(least, most))

/** The parts of a URL that is written out: nothing in it is left to the mercy of a reader, such as an `@` or a `/` of a password. */
const plainUrl = (text: string): URL | undefined => {
  if (/[\s\\"<>^`{|}]/.test(text) || !/^[a-z]+:\/\//.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const { hash, password, pathname, search, username } = url
  const isDecodable = [username, password, pathname, url.hostname].every((part) => {
    try {
      return !decodeURIComponent(part).includes("\0")
    } catch {
      return false
    }
  })
  const rest = text.slice(text.indexOf("://") + 3).split("@").length
  return isDecodable && hash === "" && !text.includes("#") && rest <= 2 && !(pathname + search).includes("@")
    ? url
    : undefined
}

/** A URL of the web, without credentials, a query or a part after `#`. */
export const HttpUrl = Schema.String.pipe(
  Schema.filter((text) => {
    const url = plainUrl(text)
    return url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password + url.search === ""
  })
)

/** The URL of a mail server. */
export const SmtpUrl = Schema.String.pipe(
  Schema.filter((text) => {
    const url = plainUrl(text)
    return url !== undefined && /^smtps?:$/.test(url.protocol) && url.hostname !== "" && /^\/?$/.test(url.pathname)
  })
)

/** A private key for push services, as `reins push-key` prints it. */
export const PushKey = Schema.String.pipe(
  Schema.filter((text) => /^[A-Za-z0-9_-]{43}$/.test(text) && vapidKeysOf(text) !== undefined)
)

/** The URL of a PostgreSQL database. Its host may be absent, or in the query, for a socket. */
export const PostgresUrl = Schema.String.pipe(
  Schema.filter((text) => {
    if (/^postgres(?:ql)?:/.test(text) && namesSeveralHosts(text)) return severalHosts
    const url = plainUrl(text) ?? plainUrl(text.replace(/@\//, "@socket/"))
    return url !== undefined && /^postgres(?:ql)?:$/.test(url.protocol) && /^(?:\/[^/]*)?$/.test(url.pathname)
  })
)

const hostName = /^(?=.{1,253}$)\w(?:[\w-]{0,61}\w)?(?:\.\w(?:[\w-]{0,61}\w)?)*$/

/** An address to listen on, without a port. An IPv6 address may stand in the brackets that it has in URLs. */
export const Host = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: (text) => /^\[([0-9a-fA-F:.]+)\]$/.exec(text)?.[1] ?? text,
  encode: (host) => host
}).pipe(Schema.filter((host) => isIP(host) !== 0 || (hostName.test(host) && !/^[\d.]+$/.test(host))))

/** The sender of a mail: an address, or a name with one in angle brackets. */
export const Sender = Schema.String.pipe(
  Schema.pattern(/^(?:[^\p{Cc}<>@]*<[^\s\p{Cc}<>@]+@[^\s\p{Cc}<>@,]+>|[^\s\p{Cc}<>@]+@[^\s\p{Cc}<>@,]+)$/u)
)

/** The committer of commits: a name with an address in angle brackets. */
export const Committer = Schema.String.pipe(
  Schema.pattern(/^[^\s\p{Cc}<>@][^\p{Cc}<>@]{0,199}<[^\s\p{Cc}<>@]+@[^\s\p{Cc}<>@,]+>$/u)
)

/** A path as the system takes it. A shell has not been here: `~` and `$HOME` would be names. */
export const Path = Schema.String.pipe(
  Schema.pattern(/^(?![~$]|\s|[a-zA-Z][a-zA-Z0-9+.-]+:\/\/)[^\p{Cc}]{1,4096}$/u),
  Schema.filter((text) => text.trim() === text)
)

const isProxy = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, hostname, password, pathname, protocol, search, username } = new URL(text)
  const isDecodable = [username, password].every((part) => !/%(?![0-9a-f]{2})/i.test(part) && isUtf8(part))
  return /^https?:$/.test(protocol) && hostname !== "" && isDecodable && `${pathname}${search}${hash}` === "/"
}

const isUtf8 = (encoded: string): boolean => {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}

/** The URL of a proxy, which has a host, a port, a name and a password and nothing else. */
export const ProxyUrl = Schema.String.pipe(Schema.filter((text) => plainUrl(text) !== undefined && isProxy(text)))

/** Texts with commas between them. */
export const CommaList = Schema.transform(Schema.String, Schema.Array(Schema.String), {
  strict: true,
  decode: (text) =>
    text
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ""),
  encode: (entries) => entries.join(",")
})
/** Paths with commas between them. */
export const PathList = CommaList.pipe(Schema.filter((paths) => paths.every(Schema.is(Path))))
/** Hosts that may be asked although they are private or without TLS. */
export const HostList = CommaList.pipe(
  Schema.filter((hosts) => hosts.every((host) => !host.includes("\\") && isAllowedHost(host)))
)
/** Ways to run agents, in order of preference. */
export const ExecutorList = CommaList.pipe(Schema.compose(Schema.NonEmptyArray(Schema.Literal(...builtInExecutors))))
/** An image by a digest, which always means the same files. */
export const byDigest = /^(?:[^\s@-][^\s@]*@)?sha256:[0-9a-f]{64}$/
/** Addresses and networks. */
export const NetworkList = CommaList.pipe(Schema.filter((networks) => networks.every(isNetwork)))

/**
 * True for an origin as a browser sends it. Desktop programs and extensions have schemes of their own, as `tauri://localhost` and
 * `chrome-extension://<id>`, whose origin the URL standard does not write.
 */
const isOrigin = (text: string): boolean => {
  if (text.includes("*") || !URL.canParse(text)) return false
  const { origin } = new URL(text)
  return origin === "null" ? ownOrigin.test(text) : origin === text
}

const ownOrigin = /^(?!(?:file|data|blob|javascript|about):)[a-z][a-z0-9+.-]*:\/\/[a-zA-Z0-9._~-]+(?::\d{1,5})?$/

/** Origins of pages. */
export const OriginList = CommaList.pipe(Schema.filter((origins) => origins.every(isOrigin)))

/** The path without links; the same where nothing is there yet. */
const realOf = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

const isDirectory = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

const holds = (directory: string, path: string): boolean => {
  const way = relative(directory, path)
  return way !== ".." && !way.startsWith(`..${sep}`)
}

/** True for a directory that agents may read: none of the given paths lies in it, and it lies in none of them. */
export const isShareable = (directory: string, own: ReadonlyArray<string>): boolean => {
  const real = realOf(directory)
  return isDirectory(real) && own.map(realOf).every((path) => !holds(real, path) && !holds(path, real))
}
