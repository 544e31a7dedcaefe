import { Effect } from "effect"
import { isObjectId } from "./GitCommand.js"
import { GitError, reasonLine } from "./GitError.js"
import type { GitMeans } from "./GitMeans.js"
import { requireRefName } from "./RefName.js"
import { callRemote, failureAt, runRemote } from "./RemoteCall.js"
import { type GitCredential, type Remote, remoteOf } from "./RemoteUrl.js"
import { requireTrusted } from "./Repository.js"

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

const lookUp = (options: GitMeans, request: RemoteHeadRequest, remote: Remote) =>
  callRemote(options, remote, {
    args: ["ls-remote", "--quiet", "--heads", "--end-of-options", remote.url, `refs/heads/${request.branch}`],
    gitDir: request.gitDir
  }).pipe(
    Effect.map((output) => {
      const lines = output.stdout.toString("utf8").split("\n")
      const [head = ""] =
        lines.map((line) => line.split("\t")).find(([, name]) => name === `refs/heads/${request.branch}`) ?? []
      return isObjectId(head) ? head : null
    })
  )

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

const rejections: ReadonlyArray<readonly [RegExp, GitError["kind"], string]> = [
  [/stale info|cannot lock ref|remote ref updated since/i, "remote_head_changed", remoteHeadChanged.message],
  [
    /non-fast-forward|fetch first|needs force/i,
    "rejected_non_fast_forward",
    "The remote branch holds commits that this one does not contain: deliver to a new branch, or choose force_with_lease."
  ],
  [
    /hook declined|protected|prohibited|not allowed to|denying|deny |checked out|restricted|permission denied/i,
    "branch_protected",
    "A rule of the remote declined the update: choose another branch, or change the rule there."
  ]
]

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

// The porcelain output has the line `! <from>:<to> TAB [rejected] (reason)`. The words of the remote's rule are on stderr.
const rejection = (stdout: string, stderr: string, remote: Remote): GitError => {
  const line = stdout.split("\n").find((text) => text.startsWith("!\t")) ?? ""
  const words = stderr.split("\n").filter((text) => remote.isKnown && text.startsWith("remote:"))
  const said = reasonLine(words.join("\n"))
  for (const [pattern, kind, message] of rejections) {
    if (pattern.test(line)) return new GitError({ kind, message: said === "" ? message : `${message} (${said})` })
  }
  const failure = failureAt(remote, "push", stderr)
  // A line with `[remote failure]` means that the remote reported nothing.
  return !line.includes("rejected]") && unanswered.has(failure.kind) ? unproven(failure) : failure
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
