import { diskFault } from "@reins/base/base/DiskFault"
import { bounded, type ForeignText, foreignName, hasInOrder } from "@reins/base/base/ForeignText"
import { blankUsers } from "@reins/base/base/Masks"
import { Data, Effect } from "effect"

/**
 * The reason for which a git operation failed.
 *
 * - `auth_required`: the remote wants a credential, or refused the one given. A new credential is the next step.
 * - `remote_refused`: this service may not contact such an address. A retry meets the same.
 * - `remote_unavailable`: the remote cannot be reached. Worth a later retry.
 * - `ref_not_found`: the remote answers, but has no such branch, tag or commit.
 * - `not_found`: the repository, git directory, work tree, object or path is absent.
 * - `rejected_non_fast_forward`: the branch is where it was expected, but the commit does not contain it.
 * - `remote_head_changed`: the branch is not where it was expected. Look again before another push.
 * - `branch_protected`: the remote protects the branch.
 * - `rule_violated`: another rule of the remote declined the update.
 * - `scope_missing`: the credential is known, and lacks a permission or scope.
 * - `secret_found`: the remote found a secret in the commits.
 * - `email_private`: the remote refuses the e-mail address in the commits.
 * - `branch_in_the_way`: the name cannot exist beside another branch of the remote.
 * - `too_large`: the remote takes nothing of that size.
 * - `quota_exceeded`: the storage of the remote is used up.
 * - `redirected`: the remote leads to another address, which is not followed.
 * - `rejected`: the remote declined in another way that the same request meets again.
 * - `conflict`: the request cannot be met in the present state of the target.
 * - `quota_exhausted`: there is no place for another working tree.
 * - `setup_failed`: a command that prepares the working tree failed.
 * - `timeout`: the time limit passed and the process was ended.
 * - `internal`: anything else.
 */
export type GitErrorKind =
  | "auth_required"
  | "remote_refused"
  | "remote_unavailable"
  | "ref_not_found"
  | "not_found"
  | "rejected_non_fast_forward"
  | "remote_head_changed"
  | "branch_protected"
  | "rule_violated"
  | "scope_missing"
  | "secret_found"
  | "email_private"
  | "branch_in_the_way"
  | "too_large"
  | "quota_exceeded"
  | "redirected"
  | "rejected"
  | "conflict"
  | "quota_exhausted"
  | "setup_failed"
  | "timeout"
  | "internal"

/**
 * The one error of `Git`. `message` is safe to show: it holds no credential and ends with what to do next. `mayHaveHappened` says that a
 * push was begun and its result is not known. `status` is that of HTTP with which the remote ended the call. `inTheWay` names the branch beside
 * which another one cannot exist.
 */
export class GitError extends Data.TaggedError("GitError")<{
  readonly kind: GitErrorKind
  readonly message: string
  readonly mayHaveHappened?: true
  readonly status?: number
  readonly inTheWay?: string
}> {}

/** The error of an output of git that no reader of it knows. It is never taken for an empty one. */
export const notUnderstood = (command: string): GitError =>
  new GitError({
    kind: "internal",
    message: `git ${command} gave an answer that Reins does not understand: report it with the version of git.`
  })

/** The reading of an output of a git command. A reader throws at what it does not know. */
export const readOutput = <A>(command: string, read: () => A): Effect.Effect<A, GitError> =>
  Effect.try({ try: read, catch: () => notUnderstood(command) })

/** An operation on files of the service. `what` begins the sentence of its failure, as in "The index could not be written". */
export const onDisk = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, GitError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new GitError({ kind: "internal", message: diskFault(what, cause) })
  })

/** The most characters of the words of git and of a remote that are looked at. */
const mostSaid = 64 * 1024

/** Removes every given secret, in plain, percent-encoded and Base64 spelling, and the user part of every URL. */
export const scrub = (text: string, secrets: ReadonlyArray<string> = []): ForeignText => {
  const spellings = secrets
    .filter((secret) => secret !== "")
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret)
        .toString("base64")
        .replace(/={1,2}$/, "")
    ])
    .sort((left, right) => right.length - left.length)
  const hidden = spellings.reduce((rest, spelling) => rest.replaceAll(spelling, "***"), text)
  return bounded(blankUsers(hidden, "***").replace(/\b(authorization:)[^\n]*/gi, "$1 ***"), mostSaid)
}

/** The lines of git's stderr that give the reason, without progress and hints; at most 400 characters. */
export const reasonLine = (stderr: ForeignText): string => {
  const lines = stderr
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => /^(fatal|error|remote|ssh|! )/i.test(line) && !/^remote:\s*$/.test(line))
  return foreignName(lines.slice(0, 4).join("; "), 400)
}

/** A pattern, or phrases that stand in this order on one line. */
type Said = RegExp | ReadonlyArray<string>

const says = (text: ForeignText, said: Said): boolean =>
  said instanceof RegExp ? said.test(text) : hasInOrder(text, said)

const rules: ReadonlyArray<readonly [ReadonlyArray<Said>, GitErrorKind, string]> = [
  [
    [/^(?!remote:).*(?:no space left on device|out of diskspace|disk quota exceeded|read-only file system)/im],
    "internal",
    "The disk of the service is full or read-only: the operator has to mend it, then try again."
  ],
  [
    [/host key verification failed/i],
    "auth_required",
    "The remote's SSH host key is not in the known hosts of the connection: give the credential again with it."
  ],
  [
    [
      /authentication failed|could not read (username|password)|returned error: 401|permission denied \(|terminal prompts disabled|invalid username or (password|token)/i
    ],
    "auth_required",
    "The remote refused the credential or wants one: put a valid credential in the connection."
  ],
  [
    [/returned error: 403|access denied/i, ["permission to ", " denied"]],
    "auth_required",
    "The credential is not allowed to do this on the remote: use one with the permission, or ask for access."
  ],
  [
    [/couldn't find remote ref|not our ref|no such remote ref|unadvertised object/i],
    "ref_not_found",
    "The remote has no such ref: choose a branch, tag or commit that exists there."
  ],
  [
    [
      /does not appear to be a git repository|returned error: 404|project you were looking for could not be found/i,
      ["repository ", "not found"]
    ],
    "not_found",
    "The remote has no such repository, or the credential may not see it: check the URL and the connection."
  ],
  [
    [/not a tree object|not a valid object|bad object|bad tree|unable to read tree|not a valid commit/i],
    "not_found",
    "The git directory does not hold that object: capture or fetch it first."
  ],
  [
    [/^error: invalid path '/im],
    "conflict",
    "The commit has a path that git writes to no disk: start from a commit without it."
  ],
  [
    [
      /could not resolve|failed to connect|connection (refused|timed out|reset)|unable to access|network is unreachable|early eof|hung up|returned error: 5\d\d|could not read from remote/i,
      ["transport ", " not allowed"]
    ],
    "remote_unavailable",
    "The remote cannot be reached: check the URL and try again later."
  ]
]

/**
 * The error for a failed git command: its kind by git's own words, its reason scrubbed. `said` picks what of those words may be shown, which is
 * all of them unless given.
 */
export const classify = (
  operation: string,
  stderr: ForeignText,
  secrets: ReadonlyArray<string> = [],
  said: (stderr: ForeignText) => ForeignText = (text) => text
): GitError => {
  const safe = scrub(stderr, secrets)
  const reason = reasonLine(said(safe))
  const detail = reason === "" ? "" : ` (${reason})`
  for (const [patterns, kind, message] of rules) {
    if (patterns.some((pattern) => says(safe, pattern))) return new GitError({ kind, message: `${message}${detail}` })
  }
  return new GitError({
    kind: "internal",
    message: `git ${operation} failed${detail}: try again, and report it if it fails the same way.`
  })
}
