/** The place of a repository, as its URL says it. */
export type RepositoryPlace =
  | {
      /** Asked through http or https. */
      readonly kind: "web"
      /** Without a name in it. */
      readonly url: URL
    }
  | {
      /** Reached through SSH. */
      readonly kind: "ssh"
      /** In small letters, an IPv6 address in its brackets. */
      readonly host: string
      /** 22 where the URL names none. */
      readonly port: number
    }
  | {
      /** A path of the machine that the service runs on. */
      readonly kind: "path"
      /** Absolute. */
      readonly path: string
    }

const sshHost = /^(?:[a-z0-9][a-z0-9_.-]*|\[[0-9a-f:.]+\])$/i
const user = /^[a-z0-9_]?[\w.-]*$/i
const scpLike = /^(?:([A-Za-z0-9_][\w.-]*)@)?([A-Za-z0-9][\w.-]*):(?![/\\]{2}|[:-])\S+$/

const webPlace = (text: string, parsed: URL): RepositoryPlace | undefined => {
  // URLs take more slashes than two for two, and git does not.
  if (!/^https?:\/\/[^/\\]/i.test(text)) return undefined
  const url = new URL(parsed.href)
  url.username = ""
  return { kind: "web", url }
}

const sshPlace = ({ hostname, pathname, port, username }: URL): RepositoryPlace | undefined =>
  sshHost.test(hostname) && user.test(username) && pathname.length > 1
    ? { kind: "ssh", host: hostname.toLowerCase(), port: Number(port || 22) }
    : undefined

const filePlace = ({ host, pathname }: URL): RepositoryPlace | undefined => {
  if (host !== "") return undefined
  try {
    return { kind: "path", path: decodeURIComponent(pathname) }
  } catch {
    return undefined
  }
}

/**
 * Reads the URL of a repository: https, http or ssh, `user@host:path`, `file:` or an absolute path. Undefined for every other text, as for one
 * that git would take for an option, a helper or a path within its own folder, and for a URL with a password in it.
 */
export const repositoryPlace = (text: string): RepositoryPlace | undefined => {
  if (/[\s\p{Cc}]/u.test(text)) return undefined
  if (text.startsWith("/")) return { kind: "path", path: text }
  if (!text.includes("://")) {
    const host = scpLike.exec(text)?.[2]
    return host === undefined ? undefined : { kind: "ssh", host: host.toLowerCase(), port: 22 }
  }
  if (!URL.canParse(text)) return undefined
  const parsed = new URL(text)
  if (parsed.password !== "") return undefined
  switch (parsed.protocol) {
    case "https:":
    case "http:":
      return webPlace(text, parsed)
    case "ssh:":
      return sshPlace(parsed)
    case "file:":
      return filePlace(parsed)
    default:
      return undefined
  }
}

/**
 * The origin of a place, as in `https://git.example` or `ssh://git.example:2222`, by which a credential finds its home. Undefined for a path,
 * which takes no credential.
 */
export const originOf = (place: RepositoryPlace): string | undefined => {
  if (place.kind === "path") return undefined
  return place.kind === "web" ? place.url.origin : `ssh://${place.host}${place.port === 22 ? "" : `:${place.port}`}`
}
