import type { ConnectionId, CredentialId } from "@reins/base/domain/Ids"
import { originOf, repositoryPlace } from "@reins/base/domain/RepositoryUrl"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import type { ConnectionHealth } from "../connections/Connection.js"

/** A connection whose credential may go to the origin of a repository. */
export interface FittingConnection {
  readonly id: ConnectionId
  /** The current version of its credential. */
  readonly credentialId: CredentialId
  /** True for an app of a forge, which opens only what it is installed on. */
  readonly isApp: boolean
  readonly health: ConnectionHealth
}

/** The last use of a credential for a repository. */
export interface RepositoryUse {
  readonly connectionId: ConnectionId
  readonly credentialId: CredentialId
  /** As `repositoryKey` names it. */
  readonly repository: string
  /** True when the remote has taken the credential, false when it has refused it. */
  readonly opens: boolean
  readonly usedAt: Timestamp
}

/** A connection in the order of the choice. */
export interface RankedConnection extends FittingConnection {
  /** True when it has opened this repository, false when the repository or its forge has refused it, null when nobody knows. */
  readonly opens: boolean | null
}

/**
 * The name of a repository for all spellings of its URL: its origin and its path, without a user and without `.git`. Undefined for a path of this
 * machine and for a text that is no URL of a repository, because no credential goes there.
 */
export const repositoryKey = (url: string): string | undefined => {
  const place = repositoryPlace(url)
  const origin = place && originOf(place)
  if (place === undefined || origin === undefined) return undefined
  const path = (place.kind === "web" ? place.url.pathname : sshPath(url)).split("/").filter((part) => part !== "")
  return `${origin}/${path.join("/").replace(/\.git$/, "")}`
}

const sshPath = (url: string): string => (url.includes("://") ? new URL(url).pathname : url.slice(url.indexOf(":") + 1))

/**
 * Orders the connections for a repository, the best first. An app that may be installed on the owner comes first. The one that has opened the
 * repository last follows, then the newest. One whose credential was refused comes after all others.
 */
export const rankConnections = (
  repository: string,
  fitting: ReadonlyArray<FittingConnection>,
  uses: ReadonlyArray<RepositoryUse>
): ReadonlyArray<RankedConnection> => {
  const standing = fitting.map((connection) => {
    const own = uses.find(
      (use) =>
        use.repository === repository &&
        use.connectionId === connection.id &&
        use.credentialId === connection.credentialId
    )
    const isRefused = own?.opens === false || connection.health === "reauth_required"
    return {
      ranked: { ...connection, opens: isRefused ? false : own === undefined ? null : true },
      usedAt: isRefused ? "" : (own?.usedAt ?? "")
    }
  })
  return standing
    .sort(
      (a, b) =>
        Number(a.ranked.opens === false) - Number(b.ranked.opens === false) ||
        Number(b.ranked.isApp) - Number(a.ranked.isApp) ||
        compare(b.usedAt, a.usedAt) ||
        compare(b.ranked.id, a.ranked.id)
    )
    .map(({ ranked }) => ranked)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
