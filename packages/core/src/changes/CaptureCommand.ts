import { requireAll } from "@reins/base/domain/Condition"
import { ChangesetId, newId, type SessionId, type TurnId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Bench } from "@reins/machine/bench/Bench"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { Effect } from "effect"
import { Access, actorOf, type Unseen } from "../access/Access.js"
import { JobStore } from "../jobs/JobStore.js"
import { sessionRules } from "../sessions/rows/SessionRules.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { Journal } from "../store/Journal.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import type { ChangesetInput } from "./CapturesApi.js"
import { toChangesetFor } from "./ChangeRules.js"
import { ChangesetStore } from "./ChangesetStore.js"

/** The kind of the job that captures on request; its payload is `{changeset_id, expected_generation?}`. */
export const captureJobKind = "changeset.capture"

/** A session at work, without a workspace, or with another content of it than was expected. */
export type CaptureRefusal = "turn_active" | "executor_unavailable" | "invalid_transition" | "stale_subject"

/** The inside of `Changesets.capture`. */
export const captureCommand = Effect.gen(function* () {
  const journal = yield* Journal
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const turns = yield* TurnStore
  const store = yield* ChangesetStore

  const requireTurn = Effect.fnUntraced(function* (sessionId: SessionId, id: TurnId | undefined) {
    if (id !== undefined && (yield* turns.find(id))?.session_id !== sessionId) return yield* notFound()
  })

  return Effect.fnUntraced(function* (principal: Principal, sessionId: string, input: ChangesetInput) {
    const session = yield* sessions.writable(principal, sessionId)
    yield* requireAll(sessionRules.capture, session)
    yield* requireTurn(session.id, input.source_turn_id)
    const changeset = yield* store.open(yield* newId(ChangesetId), session.id, actorOf(principal), {
      origin: input.origin ?? "explicit",
      label: input.label ?? null,
      turnId: input.source_turn_id ?? null
    })
    const operation = yield* jobs.enqueue({
      kind: captureJobKind,
      subject: { type: "changeset", id: changeset.id },
      workspaceId: session.workspace_id,
      payload: {
        changeset_id: changeset.id,
        ...(input.expected_generation !== undefined && { expected_generation: input.expected_generation })
      },
      filesOf: session.id,
      maxAttempts: 5
    })
    const watermark = yield* journal.append(session.id, actorOf(principal), [])
    return { operation, changeset: toChangesetFor(principal, session)(changeset), event_watermark: watermark }
  })
})

/** Looks at the workspace before a capture that expects a content of it. A capture that expects none is not looked at twice. */
export const generationGuard = Effect.gen(function* () {
  const access = yield* Access
  const sessions = yield* SessionStore
  const bench = yield* Bench
  const trees = yield* WorkingTrees

  return Effect.fnUntraced(function* (
    principal: Principal,
    sessionId: string,
    { expected_generation: expected }: ChangesetInput
  ) {
    if (expected === undefined) return
    const session = yield* sessions.readable(principal, sessionId)
    yield* access.writeWithin(principal, session.workspace_id, [session.id, session.lineage.parent_session_id])
    yield* requireAll(sessionRules.capture, session)
    yield* trees.requireOwned(session.id)
    const { tree } = yield* bench.changes
      .current(session.id, session.tree.base_commit)
      .pipe(Effect.mapError(changesUnreadable))
    if (tree !== expected) return yield* changedMeanwhile(tree, expected)
  })
})

/** The refusal of a capture whose workspace holds something else than was expected. */
export const changedMeanwhile = (generation: string, expected: string): ReinsError<"stale_subject"> =>
  new ReinsError({
    code: "stale_subject",
    message:
      "The workspace has changed since its changes were read. Read them again with GET /api/sessions/{session_id}/changes, then capture that generation.",
    details: { generation, expected_generation: expected }
  })

/** Reading a changeset fails with `executor_unavailable` when the git objects of its session cannot be read. */
export type ReadFailure = Unseen | ReinsError<"executor_unavailable">

export const changesUnreadable = (error: GitError): ReadFailure =>
  error.kind === "not_found"
    ? notFound()
    : new ReinsError({ code: "executor_unavailable", message: error.message, details: { kind: error.kind } })
