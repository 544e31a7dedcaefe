import { DateTime, Effect } from "effect"
import { Connections } from "../connections/Connections.js"
import type { Changeset } from "../domain/Changeset.js"
import type { Delivery, DeliveryReason } from "../domain/Delivery.js"
import { DeliveryId } from "../domain/Ids.js"
import { systemActor } from "../identity/Access.js"
import { JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import type { Claim } from "../jobs/Jobs.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import { toGitCredential, Workspaces } from "../sessions/Workspaces.js"
import { Git } from "../workspace/Git.js"
import type { GitError, GitErrorKind } from "../workspace/GitError.js"
import { Changesets } from "./Changesets.js"
import { Deliveries, deliveryJobKind } from "./Deliveries.js"

const actor = systemActor("delivery")

const deliveryOf = (claim: Claim): DeliveryId => DeliveryId.make(claim.subject.id)

/** What a person has to decide or mend blocks the delivery; what may pass by itself is tried again and then fails. */
const reasons: Partial<Record<GitErrorKind, DeliveryReason>> = {
  auth_required: "auth_required",
  branch_protected: "branch_protected",
  remote_head_changed: "remote_head_changed",
  rejected_non_fast_forward: "remote_head_changed",
  remote_unavailable: "remote_unavailable",
  timeout: "remote_unavailable",
  not_found: "remote_unavailable"
}
const retryable: ReadonlySet<string> = new Set<GitErrorKind>(["remote_unavailable", "timeout"])
const blocking: ReadonlySet<string> = new Set<DeliveryReason>([
  "auth_required",
  "branch_protected",
  "remote_head_changed"
])

/** Carries out a delivery. The push looks at the remote first, so a repetition finds its own work and does nothing twice. */
export const deliveryJob = Effect.gen(function* () {
  const deliveries = yield* Deliveries
  const changesets = yield* Changesets
  const sessions = yield* SessionStore
  const workspaces = yield* Workspaces
  const connections = yield* Connections
  const git = yield* Git

  const step = (
    attempt: RunningAttempt,
    id: DeliveryId,
    kind: "materialize" | "push" | "observe",
    outcome: "succeeded" | "failed",
    detail: Record<string, unknown>
  ) => attempt.commit(deliveries.addStep(id, { kind, outcome, attempt: attempt.claim.attempt, detail }, actor))

  const credentialFor = Effect.fnUntraced(function* (delivery: Delivery, session: SessionRow) {
    if (delivery.connection_id === null) return yield* workspaces.gitCredential(session)
    return yield* connections.open(session.workspace_id, delivery.connection_id).pipe(
      Effect.map(toGitCredential),
      Effect.mapError((error) => new JobError({ code: "auth_required", message: error.message, retryable: false }))
    )
  })

  const branch = Effect.fnUntraced(function* (
    attempt: RunningAttempt,
    delivery: Delivery,
    changeset: Changeset,
    tree: string,
    session: SessionRow
  ) {
    const { gitDir } = workspaces.paths(session.id)
    const failedAs = (kind: "materialize" | "push") => (error: GitError) =>
      Effect.zipRight(
        step(attempt, delivery.id, kind, "failed", { kind: error.kind, message: error.message }),
        Effect.fail(
          new JobError({
            code: reasons[error.kind] ?? error.kind,
            message: error.message,
            retryable: retryable.has(error.kind)
          })
        )
      )
    const commit = yield* git
      .commitTree({
        gitDir,
        tree,
        parents: changeset.base_commit === null ? [] : [changeset.base_commit],
        message: `${delivery.title ?? "Changes by a coding session"}\n\nReins-Session: ${session.id}\nReins-Changeset: ${changeset.id}`,
        // The time of the capture, so that a repeated attempt makes the same commit.
        date: DateTime.unsafeMake(changeset.sealed_at ?? changeset.created_at)
      })
      .pipe(Effect.catchTag("GitError", failedAs("materialize")))
    yield* step(attempt, delivery.id, "materialize", "succeeded", { commit })
    const credential = yield* credentialFor(delivery, session)
    const remote = {
      gitDir,
      url: delivery.remote_url ?? "",
      branch: delivery.target_ref,
      ...(credential && { credential })
    }
    const observed = yield* git.remoteHead(remote).pipe(Effect.catchTag("GitError", failedAs("push")))
    // An existing branch moves fast-forward from where it is seen now; it is replaced only if it still is where it was last seen.
    const expectedHead =
      delivery.update_strategy === "force_with_lease" ? (delivery.observed_head ?? observed) : observed
    const { head, pushed } = yield* git
      .push({ ...remote, commit, expectedHead, strategy: delivery.update_strategy })
      .pipe(Effect.catchTag("GitError", failedAs("push")))
    yield* step(attempt, delivery.id, "push", "succeeded", {
      branch: delivery.target_ref,
      head,
      pushed,
      previous_head: observed
    })
    const seen = yield* git.remoteHead(remote).pipe(Effect.catchTag("GitError", failedAs("push")))
    yield* step(attempt, delivery.id, "observe", "succeeded", { branch: delivery.target_ref, head: seen })
    return deliveries.move(delivery.id, { state: "succeeded", commit, observedHead: seen }, actor)
  })

  const patch = Effect.fnUntraced(function* (
    attempt: RunningAttempt,
    delivery: Delivery,
    changeset: Changeset,
    tree: string,
    session: SessionRow
  ) {
    const bytes = yield* git
      .patch({ gitDir: workspaces.paths(session.id).gitDir, base: changeset.base_commit, tree })
      .pipe(Effect.mapError((error) => new JobError({ code: error.kind, message: error.message, retryable: false })))
    yield* step(attempt, delivery.id, "materialize", "succeeded", { bytes: bytes.length })
    return deliveries.move(delivery.id, { state: "succeeded", patch: Buffer.from(bytes).toString("utf8") }, actor)
  })

  return {
    kind: deliveryJobKind,
    concurrency: 4,
    deadlineMs: 30 * 60_000,
    run: Effect.fn("deliveryJob.run")(function* (attempt) {
      const delivery = yield* deliveries.find(deliveryOf(attempt.claim))
      const changeset = delivery === undefined ? undefined : yield* changesets.find(delivery.changeset_id)
      const session = delivery === undefined ? undefined : yield* sessions.find(delivery.session_id)
      if (delivery === undefined || changeset === undefined || session === undefined || changeset.tree === null) {
        return { state: "succeeded" as const, command: Effect.void }
      }
      if (delivery.state !== "executing")
        yield* attempt.commit(deliveries.move(delivery.id, { state: "executing" }, actor))
      if (changeset.empty) {
        return yield* new JobError({
          code: "empty_changeset",
          message: "The changeset is empty: there is nothing to deliver.",
          retryable: false
        })
      }
      const carryOut = delivery.transport === "patch" ? patch : branch
      const command = yield* carryOut(attempt, delivery, changeset, changeset.tree, session)
      return { state: "succeeded" as const, command }
    }),
    failed: Effect.fn("deliveryJob.failed")(function* (claim, failure) {
      const delivery = yield* deliveries.find(deliveryOf(claim))
      if (delivery?.state !== "executing") return
      const reason = isReason(failure.code) ? { reason: failure.code } : {}
      yield* deliveries.move(
        delivery.id,
        {
          state: blocking.has(failure.code) ? "blocked" : "failed",
          reasonMessage: failure.message,
          ...reason
        },
        actor
      )
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

const isReason = (code: string): code is DeliveryReason =>
  code === "empty_changeset" || Object.values(reasons).some((reason) => reason === code)
