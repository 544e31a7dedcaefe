import { execFile } from "node:child_process"
import { bounded, type ForeignText, hasInOrder } from "@reins/base/base/ForeignText"
import { CommandFailed } from "../CommandFailed.js"
import { didYouMean } from "../terminal/Suggestion.js"

/** The answer of a remote that was asked for its refs. */
type Listed =
  | { readonly kind: "refs"; readonly refs: ReadonlyMap<string, string> }
  /** The remote has said that there is nothing. */
  | { readonly kind: "missing" }
  /** It wants credentials. Forges answer so as well where there is nothing. */
  | { readonly kind: "closed" }
  /** This machine cannot reach it. The server may. */
  | { readonly kind: "unknown" }

/** The time that a remote has to answer, in milliseconds. The server asks it anyway. */
const patienceMs = 20_000

/** Asks a remote for its refs, with the git of this machine and without a question to the person. */
const listRefs = (url: string): Promise<Listed> =>
  new Promise((resolve) => {
    const env = { ...process.env, GIT_TERMINAL_PROMPT: "0", GIT_ASKPASS: "true", LC_ALL: "C" }
    const args = ["-c", "credential.interactive=false", "ls-remote", "--quiet", "--end-of-options", url]
    execFile("git", args, { env, timeout: patienceMs, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error === null) return resolve({ kind: "refs", refs: refsIn(stdout) })
      const isMissing = isMissingBy(bounded(stderr, mostSaid))
      const isClosed = /could not read (?:Username|Password)|Authentication failed|returned error: 40[13]/i.test(stderr)
      resolve({ kind: isMissing ? "missing" : isClosed ? "closed" : "unknown" })
    })
  })

const mostSaid = 64 * 1024

const isMissingBy = (said: ForeignText): boolean =>
  hasInOrder(said, ["repository ", "not found"]) || /not found$|does not exist|returned error: (?:404|410)/im.test(said)

const refsIn = (stdout: string): ReadonlyMap<string, string> =>
  new Map(
    stdout.split("\n").flatMap((line) => {
      const [id, name] = line.split("\t")
      return id && name ? [[name, id] as const] : []
    })
  )

/** The repository and the ref to ask for. */
export interface Asked {
  readonly url: string
  /** The ref that was named; undefined for the default branch. */
  readonly ref: string | undefined
  /** Refs that a link may mean, and the ref of its pull request. */
  readonly refs: ReadonlyArray<string>
  readonly pullRequest: string | null
}

/**
 * The ref to start from. Throws `CommandFailed` when the remote says that there is no such repository, branch, tag or pull request, so that no
 * session is made of it. The server answers what this machine cannot find out. `isOpen` asks the server whether it can open the repository.
 */
export const checkedRef = async (
  { pullRequest, ref, refs, url }: Asked,
  isOpen: (ref: string | undefined) => Promise<boolean>
): Promise<string | undefined> => {
  const listed = await listRefs(url)
  const isClosed = listed.kind === "missing" || listed.kind === "closed"
  if (isClosed && !(await isOpen(ref)))
    throw new CommandFailed({
      message: `There is no public repository at ${url}. Check --repo. A private one needs a connection: reins connections add ${url}`
    })
  if (listed.kind !== "refs") {
    if (pullRequest === null || ref !== undefined) return ref ?? refs[0]
    throw new CommandFailed({
      message: `The branch of this pull request is not known here. Give the repository with --repo ${url} and its branch with --ref.`
    })
  }
  const has = (name: string) => listed.refs.has(`refs/heads/${name}`) || listed.refs.has(`refs/tags/${name}`)
  if (ref !== undefined) {
    if (has(ref.replace(/^refs\/(?:heads|tags)\//, "")) || isCommit(ref) || ref === "HEAD") return ref
    throw new CommandFailed({ message: noRef(ref, url, listed.refs) })
  }
  if (pullRequest !== null) return headOf(pullRequest, url, listed.refs)
  if (refs.length === 0) return undefined
  const found = [...refs].reverse().find(has) ?? refs.find(isCommit)
  if (found !== undefined) return found
  throw new CommandFailed({ message: noRef(refs[0] ?? "", url, listed.refs) })
}

const isCommit = (ref: string): boolean => /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(ref)

/** The branch whose head is that of the pull request, and otherwise its commit. */
const headOf = (pullRequest: string, url: string, refs: ReadonlyMap<string, string>): string => {
  const head = refs.get(pullRequest)
  if (head === undefined)
    throw new CommandFailed({ message: `${url} has no pull request ${/\d+/.exec(pullRequest)?.[0] ?? ""}.` })
  const branch = [...refs].find(([name, id]) => id === head && name.startsWith("refs/heads/"))?.[0]
  return branch?.slice("refs/heads/".length) ?? head
}

const noRef = (ref: string, url: string, refs: ReadonlyMap<string, string>): string => {
  const names = [...refs.keys()].flatMap((name) => /^refs\/(?:heads|tags)\/(.+)$/.exec(name)?.[1] ?? [])
  return `${url} has no branch or tag "${ref}".${didYouMean(ref, names)} Name another one with --ref.`
}
