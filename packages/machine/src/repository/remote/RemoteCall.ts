import { bounded, type ForeignText } from "@reins/base/base/ForeignText"
import { Effect } from "effect"
import { type GitOutput, runGit } from "../run/GitCommand.js"
import { classify, GitError } from "../run/GitError.js"
import type { GitMeans } from "../run/GitMeans.js"
import { refusalBy, refusalByAny } from "./Refusals.js"
import type { Remote } from "./RemoteUrl.js"

/** A call of git to a remote. The address of the remote stands among the arguments. */
export interface RemoteCall {
  readonly gitDir: string
  readonly args: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: Uint8Array
}

/** The words of git and of curl about a connection. All others may be those of the remote. */
const ownWords = (stderr: ForeignText): ForeignText =>
  bounded(
    stderr
      .split(/[\r\n]+/)
      .filter((line) => line.startsWith("fatal: unable to access "))
      .join("\n"),
    stderr.length
  )

/** The error of a call that failed. A host that is not known is not quoted, because it may be one that only the service reaches. */
export const failureAt = (remote: Remote, operation: string, stderr: ForeignText): GitError => {
  const refused = remote.refused()
  if (refused !== undefined) {
    return new GitError({ kind: remote.leadsAway?.() ? "redirected" : "remote_refused", message: refused })
  }
  const refusal = refusalBy(stderr, remote.isKnown)
  if (refusal !== undefined) return refusal
  const failure = classify(operation, stderr, remote.secrets, remote.isKnown ? undefined : ownWords)
  return failure.kind === "internal" ? (refusalByAny(stderr, remote.isKnown) ?? failure) : failure
}

/** Runs git against a remote and gives its output for any exit code. */
export const runRemote = (means: GitMeans, remote: Remote, call: RemoteCall): Effect.Effect<GitOutput, GitError> =>
  Effect.tap(
    runGit({
      ...call,
      env: { ...remote.env, ...call.env },
      secrets: remote.secrets,
      timeoutMs: means.networkTimeoutMs
    }),
    ({ stderr }) => remote.hear?.(stderr)
  )

/** Runs git against a remote. Fails unless it exits with 0. */
export const callRemote = (means: GitMeans, remote: Remote, call: RemoteCall): Effect.Effect<GitOutput, GitError> =>
  Effect.flatMap(runRemote(means, remote, call), (output) =>
    output.exitCode === 0 && !output.truncated
      ? Effect.succeed(output)
      : Effect.fail(failureAt(remote, call.args[0] ?? "", output.stderr))
  )
