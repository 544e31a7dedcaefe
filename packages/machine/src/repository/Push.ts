import type { ForeignText } from "@reins/base/base/ForeignText"
import { foreignWords } from "@reins/base/base/ForeignWords"
import { Effect } from "effect"
import { requireTrusted } from "./Repository.js"
import { rejectionBy } from "./remote/Refusals.js"
import { failureAt, runRemote } from "./remote/RemoteCall.js"
import { askRemote } from "./remote/RemoteRefs.js"
import { type GitCredential, type Remote, remoteOf } from "./remote/RemoteUrl.js"
import { GitError } from "./run/GitError.js"
import type { GitMeans } from "./run/GitMeans.js"
import { requireRefName } from "./run/RefName.js"

/** A branch of a remote, and the trusted git directory that git runs in. */
export interface RemoteHeadRequest {
  readonly gitDir: string
  readonly url: string
  readonly branch: string
  readonly credential?: GitCredential
}

/** A commit for a branch of a remote. */
export interface PushRequest extends RemoteHeadRequest {
  readonly commit: string
  /** The commit that the branch was last seen at; null expects that the branch does not exist. */
  readonly expectedHead: string | null
  readonly strategy: "fast_forward" | "force_with_lease"
}

/** `pushed` is false when the branch was at `commit` before. */
export interface PushResult {
  readonly head: string
  readonly pushed: boolean
}

const heads = "refs/heads/"

/** The folders that a branch of this name lies in, as names of branches. */
const foldersOf = (branch: string): ReadonlyArray<string> => {
  const parts = branch.split("/")
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"))
}

const inTheWay = (branch: string, other: string) =>
  new GitError({
    kind: "branch_in_the_way",
    message: `The remote has a branch ${JSON.stringify(other)}, so it can have no branch ${JSON.stringify(branch)}: deliver to another target_ref, or delete that branch.`,
    inTheWay: other
  })

/** The commit of a branch; null where the remote has none. Fails with `branch_in_the_way` where it can have none. */
const lookUp = Effect.fnUntraced(function* (options: GitMeans, request: RemoteHeadRequest, remote: Remote) {
  const { branch, gitDir } = request
  const names = [branch, ...foldersOf(branch), `${branch}/*`].map((name) => `${heads}${name}`)
  const found = (yield* askRemote(options, gitDir, remote, ["--heads"], names)).names
  const head = found.get(`${heads}${branch}`)
  if (head !== undefined) return head
  const [other] = [...found.keys()].filter((name) => name.startsWith(heads))
  return other === undefined ? null : yield* inTheWay(branch, other.slice(heads.length))
})

/** See `Git.remoteHead`. */
export const remoteHead = Effect.fnUntraced(function* (options: GitMeans, request: RemoteHeadRequest) {
  yield* requireTrusted(request.gitDir)
  yield* requireRefName(request.branch)
  return yield* lookUp(options, request, yield* remoteOf(options, request.url, request.credential))
}, Effect.scoped)

const remoteHeadChanged = new GitError({
  kind: "remote_head_changed",
  message: "The remote branch is not where it was expected: refresh, look at what is there, and decide again."
})

const notContained =
  "The remote branch holds commits that this one does not contain: deliver to a new branch, or choose force_with_lease."

const moved = /stale info|remote ref updated since|is at [0-9a-f]+ but expected|reference already exists/i

/** The error of a push that got no answer. It may still take effect, even after the branch was looked at again. */
const unproven = ({ kind, message }: GitError): GitError =>
  new GitError({
    kind,
    message: `${message} The push was begun and may have reached the remote all the same: look at the branch.`,
    mayHaveHappened: true
  })

const unanswered: ReadonlySet<GitError["kind"]> = new Set<GitError["kind"]>([
  "remote_unavailable",
  "timeout",
  "internal"
])

const mostReason = 2_000

// The porcelain output has the line `! <from>:<to> TAB [rejected] (reason)`.
const rejectionIn = (stdout: string): { readonly by: string; readonly reason: ForeignText } => {
  const line = stdout.split("\n").find((text) => text.startsWith("!\t")) ?? ""
  const said = line.slice(line.indexOf("\t", 2) + 1)
  const middle = said.indexOf("] (")
  const isRejection = said.startsWith("[") && middle > 0 && said.endsWith(")")
  return {
    by: isRejection ? said.slice(1, middle) : "",
    reason: foreignWords(isRejection ? said.slice(middle + 3, -1) : "", mostReason)
  }
}

// The words of the remote's rule are on stderr.
const rejection = (stdout: string, stderr: ForeignText, remote: Remote): GitError => {
  const { by, reason } = rejectionIn(stdout)
  if (by !== "" && moved.test(`${reason}\n${stderr}`)) return remoteHeadChanged
  if (/non-fast-forward|fetch first|needs force/i.test(reason)) {
    return new GitError({ kind: "rejected_non_fast_forward", message: notContained })
  }
  if (by === "remote rejected") return rejectionBy(reason, stderr, remote.isKnown)
  const failure = failureAt(remote, "push", stderr)
  // A line with `[remote failure]` means that the remote reported nothing.
  return by !== "rejected" && unanswered.has(failure.kind) ? unproven(failure) : failure
}

const leaseOf = (request: PushRequest): ReadonlyArray<string> =>
  request.expectedHead === null || request.strategy === "force_with_lease"
    ? [`--force-with-lease=refs/heads/${request.branch}:${request.expectedHead ?? ""}`]
    : []

/** See `Git.push`. */
export const push = Effect.fnUntraced(function* (options: GitMeans, request: PushRequest) {
  const expected = request.expectedHead === null ? [] : [request.expectedHead]
  yield* requireTrusted(request.gitDir, request.commit, ...expected)
  yield* requireRefName(request.branch)
  const remote = yield* remoteOf(options, request.url, request.credential)
  const head = yield* lookUp(options, request, remote)
  if (head === request.commit) return { head, pushed: false }
  if (head !== request.expectedHead) return yield* remoteHeadChanged
  const output = yield* runRemote(options, remote, {
    args: [
      "push",
      "--porcelain",
      "--no-verify",
      "--no-follow-tags",
      "--no-signed",
      ...leaseOf(request),
      "--end-of-options",
      remote.url,
      `${request.commit}:refs/heads/${request.branch}`
    ],
    gitDir: request.gitDir
  }).pipe(Effect.mapError((error) => (error.kind === "timeout" ? unproven(error) : error)))
  if (output.exitCode !== 0) {
    // The git process of an earlier attempt may outlive its killed service, and push the same commit first.
    const found = yield* Effect.orElseSucceed(lookUp(options, request, remote), () => null)
    if (found === request.commit) return { head: found, pushed: false }
    return yield* rejection(output.stdout.toString("utf8"), output.stderr, remote)
  }
  return { head: request.commit, pushed: true }
}, Effect.scoped)
