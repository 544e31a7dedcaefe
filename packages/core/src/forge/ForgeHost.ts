import { ForgeKind } from "../domain/MergeRequest.js"

/** Where a forge is: its web address, which repositories have in their URLs, and the root of its API. */
export interface ForgeHost {
  readonly kind: ForgeKind
  readonly web: URL
  /** Without a trailing slash. */
  readonly api: string
}

/** Whether a kind of connection holds the token of a forge. */
export const isForgeKind = (kind: string): kind is ForgeKind => ForgeKind.literals.some((forge) => forge === kind)

const defaults: Readonly<Record<ForgeKind, string>> = {
  github: "https://github.com",
  gitlab: "https://gitlab.com",
  gitea: "https://gitea.com"
}

const apiPaths: Readonly<Record<ForgeKind, string>> = { github: "/api/v3", gitlab: "/api/v4", gitea: "/api/v1" }

const withoutSlash = (text: string): string => text.replace(/\/+$/, "")

/** The host of a connection, from its base URL: the web address of the forge, or the root of its API. */
export const forgeHost = (kind: ForgeKind, baseUrl: string | undefined): ForgeHost => {
  const web = new URL(baseUrl ?? defaults[kind])
  web.search = ""
  web.hash = ""
  // GitHub's own clouds have their API on a host of its own.
  if (kind === "github" && /^(?:api\.)?(?:github\.com|[\w-]+\.ghe\.com)$/.test(web.hostname)) {
    web.pathname = "/"
    web.hostname = web.hostname.replace(/^api\./, "")
    return { kind, web, api: `${web.protocol}//api.${web.host}` }
  }
  const path = withoutSlash(web.pathname)
  web.pathname = path.endsWith(apiPaths[kind]) ? path.slice(0, -apiPaths[kind].length) : path
  return { kind, web, api: `${withoutSlash(web.href)}${apiPaths[kind]}` }
}

const scpLike = /^(?:[^@/\s:]+@)?([A-Za-z0-9][\w.-]*):(?!\/\/)([^\s]+)$/

interface Place {
  /** Null for SSH, where the port and the path before the repository say nothing of the web address. */
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
 * The path of a repository on the forge, as in `owner/name`: undefined when its URL does not lead to that forge. A repository by
 * https must have the same host and port; one by plain http belongs to a forge without TLS only.
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
  if (!segments.every(isSegment) || depth < 2 || (depth > 2 && host.kind !== "gitlab")) return undefined
  return segments.join("/")
}

/**
 * Whether git may send the credential of a connection to a repository. The token of a forge goes to its own host, through the same
 * protocol, and is of no use over SSH; a connection of another kind names no host.
 */
export const mayReceive = (
  connection: { readonly kind: string; readonly settings: Readonly<Record<string, string>> },
  repositoryUrl: string
): boolean => {
  if (!isForgeKind(connection.kind)) return true
  const web = placeOf(repositoryUrl)?.web
  return web === null || web?.origin === forgeHost(connection.kind, connection.settings["base_url"]).web.origin
}
