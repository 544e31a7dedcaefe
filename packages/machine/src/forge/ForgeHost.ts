import { originOf, repositoryPlace } from "@reins/base/domain/RepositoryUrl"
import type { ForgeAddress, ForgeKind } from "./Forge.js"

/** A forge at an address. */
export interface ForgeHost extends ForgeAddress {
  readonly forge: ForgeKind
}

const withoutSlash = (text: string): string => text.replace(/(?<!\/)\/+$/, "")

/** The host of a connection to a forge, by its base URL: the web address of the forge, or the root of its API. */
export const forgeHost = (forge: ForgeKind, baseUrl: string | undefined): ForgeHost => {
  const web = new URL(baseUrl ?? forge.defaultUrl)
  web.search = ""
  web.hash = ""
  const own = forge.addressOf?.(web)
  if (own !== undefined) return { forge, ...own }
  const path = withoutSlash(web.pathname)
  web.pathname = path.endsWith(forge.apiPath) ? path.slice(0, -forge.apiPath.length) : path
  return { forge, web, api: `${withoutSlash(web.href)}${forge.apiPath}` }
}

const scpLike = /^(?:[^@/\s:]+@)?([A-Za-z0-9][\w.-]*):(?!\/\/)([^\s]+)$/

interface Place {
  /** Null for SSH, whose port and leading path say nothing about the web address. */
  readonly web: URL | null
  readonly hostname: string
  readonly path: string
}

const placeOf = (repositoryUrl: string): Place | undefined => {
  if (repositoryUrl.includes("://")) {
    if (!URL.canParse(repositoryUrl)) return undefined
    const url = new URL(repositoryUrl)
    const isWeb = url.protocol === "https:" || url.protocol === "http:"
    return isWeb || url.protocol === "ssh:"
      ? { web: isWeb ? url : null, hostname: url.hostname.toLowerCase(), path: url.pathname }
      : undefined
  }
  const [, hostname, path] = scpLike.exec(repositoryUrl) ?? []
  return hostname === undefined || path === undefined
    ? undefined
    : { web: null, hostname: hostname.toLowerCase(), path }
}

const isSegment = (text: string): boolean => /^[\w.~-]+$/.test(text) && text !== "." && text !== ".."

/**
 * The path of a repository on the forge, such as `owner/name`. Undefined when its URL does not lead to that forge. An https URL must have the
 * same host and port. A plain http URL belongs to a forge without TLS only.
 */
export const repositoryOn = (host: ForgeHost, repositoryUrl: string): string | undefined => {
  const place = placeOf(repositoryUrl)
  if (place === undefined || place.hostname !== host.web.hostname) return undefined
  if (place.web !== null && place.web.origin !== host.web.origin) return undefined
  const prefix = `${withoutSlash(host.web.pathname)}/`
  const path = place.path.startsWith("/") ? place.path : `/${place.path}`
  if (place.web !== null && !path.startsWith(prefix)) return undefined
  const segments = withoutSlash(place.web === null ? path.slice(1) : path.slice(prefix.length))
    .replace(/\.git$/, "")
    .split("/")
  const depth = segments.length
  if (!segments.every(isSegment) || depth < 2 || (depth > 2 && !host.forge.nestsGroups)) return undefined
  return segments.join("/")
}

/**
 * True when git may send the token of a forge to a repository. The repository has to be on the forge's own host with the same protocol, or be
 * reached over SSH, which does not use the token.
 */
export const mayReceive = (host: ForgeHost, repositoryUrl: string): boolean => {
  const web = placeOf(repositoryUrl)?.web
  return web === null || web?.origin === host.web.origin
}

/** True when a repository is at the origin that a credential names: the same protocol, host and port. A credential without one has no home. */
export const isHome = (origin: string | undefined, repositoryUrl: string): boolean => {
  const place = repositoryPlace(repositoryUrl)
  const home = origin === undefined ? undefined : repositoryPlace(`${withoutSlash(origin)}/home`)
  return place !== undefined && home !== undefined && originOf(home) !== undefined && originOf(home) === originOf(place)
}
