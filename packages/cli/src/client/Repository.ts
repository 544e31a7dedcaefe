import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { isAbsolute, resolve } from "node:path"
import { type RepositoryAddress, repositoryAddress } from "@reins/client"
import { CommandFailed } from "../CommandFailed.js"

/** The repository that a session works on, and what the person has to know of it. */
export interface ChosenRepository {
  readonly url: string
  readonly base_ref?: string
  /** True for a path, which only a server of the same machine can read. */
  readonly isLocal: boolean
  /** Refs that a link may mean, the most likely first, and the ref of the pull request that was linked. */
  readonly refs: ReadonlyArray<string>
  readonly pullRequest: string | null
  /** The same with https in the place of SSH, for a server that does not use SSH; null where it is no address for SSH. */
  readonly overHttps: string | null
  readonly notes: ReadonlyArray<string>
}

/**
 * The repository that `--repo` names: a URL, an owner and a name, or a link; for a folder, the remote of the git repository that it is in, or
 * that repository itself where there is no remote.
 */
export const chooseRepository = (given: string, ref: string | undefined): ChosenRepository => {
  const address = existsSync(given) ? undefined : repositoryAddress(given)
  if (address !== undefined || isUrl(given)) return { ...addressed(given, address), ...based(ref), isLocal: false }
  const folder = resolve(given)
  const root = git(folder, "rev-parse", "--show-toplevel") ?? bareRoot(folder)
  if (root === undefined) {
    throw new CommandFailed({
      message: `${folder} is not in a git repository. Name another folder, or the URL of a repository, with --repo.`
    })
  }
  const upstream = upstreamOf(folder)
  const remote = git(folder, "remote", "get-url", upstream?.remote ?? firstRemote(folder))
  const unsaved = git(folder, "status", "--porcelain") ? ["Changes that are not committed are not part of it."] : []
  if (remote === undefined || remote === "" || isPath(remote)) {
    const url = remote === undefined || remote === "" ? root : resolve(root, remote.replace(/^file:\/\//, ""))
    const branch = url === root ? git(folder, "symbolic-ref", "--short", "HEAD") : upstream?.branch
    return { url, ...based(ref ?? branch), ...noLink, isLocal: true, notes: unsaved }
  }
  const { notes, overHttps, url } = addressed(remote, repositoryAddress(remote))
  const unpushed = Number(git(folder, "rev-list", "--count", "@{upstream}..HEAD") ?? 0)
  const commits =
    unpushed === 0 ? [] : [`${unpushed} commit${unpushed === 1 ? " is" : "s are"} not pushed and not part of it.`]
  const told = [...notes, ...commits, ...unsaved]
  return { url, ...based(ref ?? upstream?.branch), ...noLink, overHttps, isLocal: false, notes: told }
}

const noLink = { refs: [], pullRequest: null, overHttps: null }

type Addressed = Pick<ChosenRepository, "notes" | "overHttps" | "pullRequest" | "refs" | "url">

/** An address as the server takes it. One for SSH stays, because the server may have a key for it. */
const addressed = (given: string, address: RepositoryAddress | undefined): Addressed => {
  if (address === undefined) return { ...noLink, ...withoutPassword(given) }
  const { from, pullRequest, refs } = address
  if (from === "ssh") return { ...noLink, url: given, notes: [], overHttps: address.url }
  const { notes, url } = withoutPassword(address.url)
  const read = from === "name" || from === "link" ? [`The repository is ${url}.`] : []
  return { url, notes: [...notes, ...read], refs, pullRequest, overHttps: null }
}

const based = (ref: string | undefined) => (ref === undefined || ref === "" ? {} : { base_ref: ref })

const isUrl = (given: string): boolean => /^[a-z][a-z+]*:\/\//i.test(given) || /^[\w.-]+@[\w.-]+:(?!\/\/)/.test(given)

/** A remote without a colon is a path, as git reads it. */
const isPath = (remote: string): boolean => remote.startsWith("file://") || isAbsolute(remote) || !remote.includes(":")

/** Credentials in a URL would be stored with the session; a connection holds them instead. */
const withoutPassword = (given: string): Pick<ChosenRepository, "url" | "notes"> => {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || `${url.username}${url.password}` === "")
    return { url: given, notes: [] }
  url.username = ""
  url.password = ""
  return {
    url: url.href,
    notes: ["The credentials in the address of the remote are left out: a private repository needs a connection."]
  }
}

const bareRoot = (folder: string): string | undefined =>
  git(folder, "rev-parse", "--is-bare-repository") === "true"
    ? git(folder, "rev-parse", "--absolute-git-dir")
    : undefined

const upstreamOf = (folder: string) => {
  const branch = git(folder, "symbolic-ref", "--short", "HEAD")
  if (branch === undefined) return undefined
  const remote = git(folder, "config", `branch.${branch}.remote`)
  const merge = git(folder, "config", `branch.${branch}.merge`)
  return remote === undefined || remote === "." || merge === undefined
    ? undefined
    : { remote, branch: merge.replace(/^refs\/heads\//, "") }
}

/** `origin` where there is one. */
const firstRemote = (folder: string): string => {
  const remotes = git(folder, "remote")?.split("\n") ?? []
  return remotes.includes("origin") ? "origin" : (remotes[0] ?? "origin")
}

/** The output of git without the end of its last line; undefined when git fails. */
const git = (folder: string, ...args: ReadonlyArray<string>): string | undefined => {
  const { error, status, stdout } = spawnSync("git", ["-C", folder, ...args], { encoding: "utf8" })
  if (error !== undefined && "code" in error && error.code === "ENOENT")
    throw new CommandFailed({
      message: "git is not installed. Install it, or name the URL of a repository with --repo."
    })
  return status === 0 ? stdout.trim() : undefined
}
