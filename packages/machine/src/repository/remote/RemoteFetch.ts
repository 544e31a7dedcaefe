import { isGitRefName } from "@reins/base/domain/RefName"
import { Effect } from "effect"
import { isObjectId, runGit } from "../run/GitCommand.js"
import { classify, type GitError } from "../run/GitError.js"
import type { GitMeans } from "../run/GitMeans.js"
import type { GitOptionsShape } from "../run/GitOptions.js"
import { type Refs, writePackedRefs } from "./PackedRefs.js"
import { callRemote } from "./RemoteCall.js"
import { askRemote, type RemoteRefs } from "./RemoteRefs.js"
import type { Remote } from "./RemoteUrl.js"

// Brings the objects of a remote into a git directory.

/** The branch that a workspace has without another word of the remote. */
export const usualBranch = "main"

/** The branches and tags of a remote, and its default branch. */
export const listRemote = (options: GitMeans, gitDir: string, remote: Remote) =>
  askRemote(options, gitDir, remote, ["--symref"])

/** The ref of a remote that a workspace begins with. `local` is its name after a fetch, or the id of a commit. */
export interface Choice {
  readonly ref: string
  readonly branch: string | null
  readonly local: string
}

/** The branch that a HEAD without a name stands for, as `git clone` guesses it for old remotes; null where HEAD is a commit of none of them. */
const branchOfHead = ({ names }: RemoteRefs): string | null => {
  const head = names.get("HEAD")
  if (head === undefined) return usualBranch
  return [usualBranch, "master"].find((name) => names.get(`refs/heads/${name}`) === head) ?? null
}

/** Finds a branch, a tag or a commit by its name. Null is the default branch, or the commit of a HEAD that no branch has, as for `git clone`. */
export const choose = (refs: RemoteRefs, ref: string | null): Choice | null => {
  const wanted = ref?.replace(/^refs\/heads\//, "") ?? refs.defaultBranch ?? branchOfHead(refs)
  if (wanted === null) {
    const head = refs.names.get("HEAD") ?? ""
    return { ref: head, branch: null, local: head }
  }
  if (refs.names.has(`refs/heads/${wanted}`)) {
    return { ref: wanted, branch: wanted, local: `refs/remotes/origin/${wanted}` }
  }
  const tag = wanted.replace(/^refs\/tags\//, "")
  if (refs.names.has(`refs/tags/${tag}`)) return { ref: tag, branch: null, local: `refs/tags/${tag}` }
  return isObjectId(wanted) ? { ref: wanted, branch: null, local: wanted } : null
}

/** The branches and tags of a remote under the names that a clone gives them. Names that git would refuse are left out. */
export const clonedRefs = ({ refs }: RemoteRefs): Refs =>
  new Map(
    [...refs].flatMap(([name, id]) => {
      if (!isGitRefName(name)) return []
      if (name.startsWith("refs/heads/"))
        return [[`refs/remotes/origin/${name.slice("refs/heads/".length)}`, id] as const]
      return name.startsWith("refs/tags/") ? [[name, id] as const] : []
    })
  )

/** Fetches objects by their ids, with all that they lead to. No ref is written. */
export const fetchIds = (
  means: GitMeans,
  gitDir: string,
  remote: Remote,
  ids: Iterable<string>
): Effect.Effect<void, GitError> => {
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return Effect.void
  return Effect.asVoid(
    callRemote(means, remote, {
      args: [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--update-shallow",
        "--stdin",
        "--end-of-options",
        remote.url
      ],
      gitDir,
      stdin: Buffer.from(wanted.map((id) => `${id}\n`).join(""))
    })
  )
}

/** Fetches a commit that no ref of a remote points at, unless it is there. Some hosts refuse to give commits by their ids. */
export const fetchCommit = (means: GitMeans, gitDir: string, remote: Remote, commit: string) =>
  Effect.flatMap(resolveCommit(means, gitDir, commit), (found) =>
    found === null ? fetchIds(means, gitDir, remote, [commit]) : Effect.void
  )

/** Fetches every branch and tag of a remote into a git directory that has none, and the chosen commit where none of them leads to it. Gives the refs. */
export const fetchAll = Effect.fnUntraced(function* (
  means: GitMeans,
  gitDir: string,
  remote: Remote,
  choice: Choice,
  listed: RemoteRefs
) {
  const refs = clonedRefs(listed)
  const head = listed.names.get("HEAD")
  yield* fetchIds(means, gitDir, remote, [...refs.values(), ...(choice.local === head ? [head] : [])])
  if (isObjectId(choice.local)) yield* fetchCommit(means, gitDir, remote, choice.local)
  yield* writePackedRefs(gitDir, refs)
  return refs
})

/** The commit that a name leads to in a trusted directory; null where there is none. */
export const resolveCommit = (options: GitOptionsShape, gitDir: string, name: string) =>
  runGit({
    args: ["rev-parse", "--quiet", "--verify", "--end-of-options", `${name}^{commit}`],
    gitDir,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.flatMap((output) => {
      const id = output.stdout.toString("utf8").trim()
      if (output.exitCode === 0 && isObjectId(id)) return Effect.succeed(id)
      // git exits with 1 and says nothing where there is no such name, and names the type of what is no commit.
      return output.exitCode === 1 && /^$|expected commit type/.test(output.stderr)
        ? Effect.succeed(null)
        : Effect.fail(classify("rev-parse", output.stderr))
    })
  )
