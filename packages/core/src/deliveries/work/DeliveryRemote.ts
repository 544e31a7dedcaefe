import type { RemoteBranch } from "@reins/machine/bench/Changes"
import { Forges } from "@reins/machine/forge/Forges"
import type { GitError, GitErrorKind } from "@reins/machine/repository/run/GitError"
import { Effect } from "effect"
import { speaksTo } from "../../catalog/RepositoryConnections.js"
import { ConnectionStore } from "../../connections/ConnectionStore.js"
import { TokenMint } from "../../connections/TokenMint.js"
import { JobError } from "../../jobs/JobKind.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { gitToken, isHomeless, noHome, notAtHome, toGitCredential } from "../../worktrees/GitCredentials.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"
import type { Delivery, DeliveryReason } from "../Delivery.js"

/** The branch of a delivery on its remote, and the credential that git uses there. */
export type DeliveryRemote = RemoteBranch

/**
 * Gives the function that finds the remote branch of a delivery. The credential is that of its connection, or else that of the project. Fails
 * with `auth_required` when the connection cannot be opened, or is for another host.
 */
export const deliveryRemote = Effect.gen(function* () {
  const trees = yield* WorkingTrees
  const connections = yield* ConnectionStore
  const forges = yield* Forges
  const mint = yield* TokenMint

  const credentialOf = Effect.fnUntraced(function* (delivery: Delivery, session: SessionRow) {
    const url = delivery.remote_url ?? ""
    const ofProject = Effect.mapError(trees.gitCredential(session), deliveryError)
    if (delivery.connection_id === null) return yield* ofProject
    const connection = yield* connections
      .open(session.workspace_id, delivery.connection_id)
      .pipe(Effect.mapError((error) => refusedCredential(error.message)))
    if (isHomeless(connection, forges)) return yield* refusedCredential(noHome(connection.id))
    if (!forges.mayReceive(connection, url)) {
      return yield* refusedCredential(notAtHome)
    }
    // The token of a forge opens the merge request, and git goes through SSH with the key of the project.
    if (!speaksTo(connection, url)) return yield* ofProject
    return toGitCredential(yield* Effect.mapError(gitToken(mint, connection, url), deliveryError))
  })

  return Effect.fnUntraced(function* (delivery: Delivery, session: SessionRow) {
    const credential = yield* credentialOf(delivery, session)
    // The session may have come to this node a moment ago, and its files have not.
    yield* trees.requireOwned(session.id)
    const remote: DeliveryRemote = {
      session: session.id,
      url: delivery.remote_url ?? "",
      branch: delivery.target_ref,
      ...(credential && { credential })
    }
    return remote
  })
})

const refusedCredential = (message: string) => new JobError({ code: "auth_required", message, retryable: false })

const reasons: Partial<Record<GitErrorKind, DeliveryReason>> = {
  auth_required: "auth_required",
  branch_protected: "branch_protected",
  rule_violated: "rule_violated",
  scope_missing: "scope_missing",
  secret_found: "secret_found",
  email_private: "email_private",
  branch_in_the_way: "branch_in_the_way",
  too_large: "too_large",
  quota_exceeded: "quota_exceeded",
  redirected: "redirected",
  rejected: "rejected",
  remote_head_changed: "remote_head_changed",
  rejected_non_fast_forward: "remote_head_changed",
  remote_refused: "remote_unavailable",
  remote_unavailable: "remote_unavailable",
  timeout: "remote_unavailable",
  not_found: "repository_not_found"
}

/** The failures that may pass without anybody's help. */
const passing: ReadonlySet<GitErrorKind> = new Set<GitErrorKind>(["remote_unavailable", "timeout"])

/** A failure of git as that of the job. Its code is a `DeliveryReason` where one fits, else the kind of the error. */
export const deliveryError = (error: GitError): JobError =>
  new JobError({
    code: reasons[error.kind] ?? error.kind,
    message: error.message,
    retryable: passing.has(error.kind) || error.mayHaveHappened === true,
    ...(error.mayHaveHappened && { attempt: "unknown" as const })
  })
