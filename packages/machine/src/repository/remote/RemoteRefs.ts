import { isUtf8 } from "node:buffer"
import { foreignName } from "@reins/base/base/ForeignText"
import { Effect } from "effect"
import { isObjectId } from "../run/GitCommand.js"
import { GitError } from "../run/GitError.js"
import type { GitMeans } from "../run/GitMeans.js"
import type { Refs } from "./PackedRefs.js"
import { callRemote } from "./RemoteCall.js"
import type { Remote } from "./RemoteUrl.js"

// Reads what `git ls-remote` says. A line that is not understood is an error, because a remote that cannot be read is not an empty one.

/** The branches and tags of a remote, and its default branch. A name that is no UTF-8 text is among `refs` alone, because nobody can say it. */
export interface RemoteRefs {
  /** Null where HEAD leads to a commit alone, or to a branch that nobody can say. */
  readonly defaultBranch: string | null
  readonly names: ReadonlyMap<string, string>
  /** The same by the bytes of the names. */
  readonly refs: Refs
}

const otherFormat = new GitError({
  kind: "conflict",
  message:
    "The repository has the object format SHA-256, which Reins does not support: give the URL of a repository with the object format SHA-1."
})

const notUnderstood = (line: string) =>
  new GitError({
    kind: "internal",
    message:
      `The remote's list of branches could not be read, because of the line ${JSON.stringify(shownOf(line))}: run \`git ls-remote\` on the URL, and ` +
      "compare its lines with `<object id> <name>`."
  })

const longestShown = 100

/** A line for people, of bytes that are read as latin1. */
const shownOf = (line: string): string =>
  foreignName(Buffer.from(line.slice(0, 4 * longestShown), "latin1").toString("utf8"), longestShown)

const refLine = /^([0-9a-f]+)\t(HEAD|refs\/[^\t]+)$/
const symbolicLine = /^ref: ([^\t]+)\t([^\t]+)$/

/** The text of a name; null for bytes that are no UTF-8. */
const textOf = (latin1: string): string | null => {
  const bytes = Buffer.from(latin1, "latin1")
  return isUtf8(bytes) ? bytes.toString("utf8") : null
}

/** The refs in the output of `ls-remote`, which is read as latin1. */
export const parseRemoteRefs = (output: string): Effect.Effect<RemoteRefs, GitError> => {
  const names = new Map<string, string>()
  const refs = new Map<string, string>()
  let head: string | null = null
  for (const line of output.split("\n")) {
    if (line === "") continue
    const [, target = "", of = ""] = symbolicLine.exec(line) ?? []
    if (of !== "") {
      if (of === "HEAD" && target.startsWith("refs/heads/")) head = textOf(target.slice("refs/heads/".length))
      continue
    }
    const [, id = "", name = ""] = refLine.exec(line) ?? []
    if (/^[0-9a-f]{64}$/.test(id)) return Effect.fail(otherFormat)
    if (!isObjectId(id)) return Effect.fail(notUnderstood(line))
    const text = textOf(name)
    if (text !== null) names.set(text, id)
    refs.set(name, id)
  }
  return Effect.succeed({ defaultBranch: head, names, refs })
}

/** Asks a remote for its refs. `asked` are the arguments of `ls-remote` before the URL, and `patterns` those after it. */
export const askRemote = (
  options: GitMeans,
  gitDir: string,
  remote: Remote,
  asked: ReadonlyArray<string>,
  patterns: ReadonlyArray<string> = []
): Effect.Effect<RemoteRefs, GitError> => {
  const call = (env: Readonly<Record<string, string>>) =>
    callRemote(options, remote, {
      args: ["ls-remote", "--quiet", ...asked, "--end-of-options", remote.url, ...patterns],
      gitDir,
      env
    })
  return Effect.gen(function* () {
    const refs = yield* parseRemoteRefs((yield* call({})).stdout.toString("latin1"))
    if (refs.refs.size > 0 || patterns.length > 0) return refs
    // A remote without refs says its format in the packets alone.
    const { stderr } = yield* call({ GIT_TRACE_PACKET: "1" })
    return /\bobject-format=sha256\b/.test(stderr) ? yield* otherFormat : refs
  })
}
