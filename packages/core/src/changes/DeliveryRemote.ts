import { Effect } from "effect"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { Delivery, DeliveryReason } from "../domain/Delivery.js"
import { Forges } from "../forge/Forges.js"
import type { GitError, GitErrorKind } from "../git/GitError.js"
import { JobError } from "../jobs/JobKind.js"
import type { SessionRow } from "../sessions/SessionStore.js"
import { toGitCredential, WorkingTrees } from "../sessions/WorkingTrees.js"

/** The branch of a delivery as git is asked for it, with the credential of its connection or of the project. */
export const deliveryRemote = Effect.gen(function* () {
  const trees = yield* WorkingTrees
  const connections = yield* ConnectionStore
  const forges = yield* Forges

  const credentialOf = Effect.fnUntraced(function* (delivery: Delivery, session: SessionRow) {
    if (delivery.connection_id === null) return yield* trees.gitCredential(session)
    const connection = yield* connections
      .open(session.workspace_id, delivery.connection_id)
      .pipe(Effect.mapError((error) => refusedCredential(error.message)))
    if (!forges.mayReceive(connection, delivery.remote_url ?? "")) {
      return yield* refusedCredential(
        "The repository is not on the forge of the connection, so its token is not sent there: use another connection."
      )
    }
    return toGitCredential(connection)
  })

  return Effect.fnUntraced(function* (delivery: Delivery, session: SessionRow) {
    const credential = yield* credentialOf(delivery, session)
    return {
      gitDir: trees.paths(session.id).gitDir,
      url: delivery.remote_url ?? "",
      branch: delivery.target_ref,
      ...(credential && { credential })
    }
  })
})

const refusedCredential = (message: string) => new JobError({ code: "auth_required", message, retryable: false })

const reasons: Partial<Record<GitErrorKind, DeliveryReason>> = {
  auth_required: "auth_required",
  branch_protected: "branch_protected",
  remote_head_changed: "remote_head_changed",
  rejected_non_fast_forward: "remote_head_changed",
  remote_unavailable: "remote_unavailable",
  timeout: "remote_unavailable",
  not_found: "remote_unavailable"
}

/** What may pass by itself is tried again. */
const retryable: ReadonlySet<GitErrorKind> = new Set<GitErrorKind>(["remote_unavailable", "timeout"])

/** A failure of git as that of a job whose code is the reason of the delivery, where there is one. */
export const deliveryError = (error: GitError): JobError =>
  new JobError({
    code: reasons[error.kind] ?? error.kind,
    message: error.message,
    retryable: retryable.has(error.kind) || error.mayHaveHappened === true,
    ...(error.mayHaveHappened && { attempt: "unknown" as const })
  })
