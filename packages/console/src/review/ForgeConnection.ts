import type { Connection } from "@reins/client"
import { connectionKinds } from "../connections/ConnectionKinds.js"

/** The kinds of connections with which a branch is pushed, and those that open merge requests too. */
const gitKinds = new Set(["github", "github_app", "gitlab", "gitea", "git", "git_ssh"])
export const forgeKinds = ["github", "gitlab", "gitea"] as const
export type ForgeKind = (typeof forgeKinds)[number]

const publicHosts: Readonly<Record<string, string>> = { "github.com": "github", "gitlab.com": "gitlab" }

const hostOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).host : undefined)

/** The connections that can push, those of the host of the repository first. */
export const pushConnections = (
  connections: ReadonlyArray<Connection>,
  repository: string | null
): { readonly all: ReadonlyArray<Connection>; readonly own: Connection | undefined } => {
  const host = hostOf(repository ?? "")
  const isOwn = ({ kind, settings }: Connection): boolean => {
    const url = settings["base_url"] ?? settings["origin"]
    return typeof url === "string"
      ? hostOf(url) === host
      : host !== undefined && publicHosts[host] === kind.replace(/_app$/, "")
  }
  const all = connections.filter(({ kind, state }) => state === "active" && gitKinds.has(kind))
  const own = all.find(isOwn)
  return { all: own === undefined ? all : [own, ...all.filter(({ id }) => id !== own.id)], own }
}

/** The forge of a repository by the name of its host. Most hosts without one of the names are Gitea or Forgejo. */
export const likelyForge = (repository: string): ForgeKind => {
  const host = hostOf(repository) ?? ""
  return host.includes("github") ? "github" : host.includes("gitlab") ? "gitlab" : "gitea"
}

/** The base URL that a connection to the forge of the repository needs; undefined for the public host of its kind. */
export const forgeUrl = (kind: ForgeKind, repository: string): string | undefined => {
  const host = hostOf(repository)
  return host === undefined || publicHosts[host] === kind ? undefined : new URL(repository).origin
}

/** True for a connection that opens merge requests. */
export const isForge = (kind: string): kind is ForgeKind => forgeKinds.some((each) => each === kind)

export const forgeWords = (kind: ForgeKind): string => connectionKinds[kind]?.does.replace(/^.* of /, "") ?? kind
