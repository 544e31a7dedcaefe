import { realpathSync, statSync } from "node:fs"
import { relative, sep } from "node:path"
import { builtInExecutors } from "@reins/core/base/CoreConfig"
import { isAllowedHost } from "@reins/core/outbound/Address"
import { Schema } from "effect"
import { isNetwork } from "./http/ClientAddress.js"

// The forms of settings, as they are read from texts.

/** A switch. */
export const Flag = Schema.transform(Schema.Literal("true", "false", "on", "off"), Schema.Boolean, {
  strict: true,
  decode: (text) => text === "true" || text === "on",
  encode: (value) => (value ? "on" : "off")
})
/** A whole number between two bounds. */
export const Whole = (least: number, most: number) =>
  Schema.NumberFromString.pipe(Schema.int(), Schema.between(least, most))
/** A URL of the web. */
export const HttpUrl = Schema.String.pipe(
  Schema.filter((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol))
)

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
/** Hosts that may be asked although they are private or without TLS. */
export const HostList = CommaList.pipe(Schema.filter((hosts) => hosts.every(isAllowedHost)))
/** Ways to run agents, in order of preference. */
export const ExecutorList = CommaList.pipe(Schema.compose(Schema.NonEmptyArray(Schema.Literal(...builtInExecutors))))
/** An image by a digest, which always means the same files. */
export const byDigest = /^(?:[^\s@-][^\s@]*@)?sha256:[0-9a-f]{64}$/
/** Addresses and networks. */
export const NetworkList = CommaList.pipe(Schema.filter((networks) => networks.every(isNetwork)))

/** Origins of pages. */
export const OriginList = CommaList.pipe(
  Schema.filter((origins) => origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin))
)

/** The path without links; the same where nothing is there yet. */
const realOf = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

const holds = (directory: string, path: string): boolean => {
  const way = relative(directory, path)
  return way !== ".." && !way.startsWith(`..${sep}`)
}

/** True for a directory that agents may read: none of the given paths lies in it, and it lies in none of them. */
export const isShareable = (directory: string, own: ReadonlyArray<string>): boolean => {
  const real = realOf(directory)
  const isThere = statSync(real, { throwIfNoEntry: false })?.isDirectory() === true
  return isThere && own.map(realOf).every((path) => !holds(real, path) && !holds(path, real))
}
