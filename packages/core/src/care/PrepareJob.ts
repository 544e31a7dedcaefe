import { randomBytes } from "node:crypto"
import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { Effect } from "effect"
import type { JobFailure } from "../jobs/Job.js"
import { JobError, type JobWork, type RunningAttempt } from "../jobs/JobKind.js"
import { Inbox } from "../sessions/Inbox.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Journal } from "../store/Journal.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"
import { carePrincipal, makeCareMayAct } from "./Acting.js"
import type { CareReason } from "./Care.js"
import { CareStore, careActor, leftOf } from "./CareStore.js"
import { followRows } from "./FollowRows.js"
import { isOtherBase } from "./Merging.js"
import { makeMessageOf } from "./MessageFacts.js"
import { makeSync, type Synced } from "./Syncing.js"
import { type CareWork, makeEndWork, makeFindWork } from "./Work.js"

const done = { state: "succeeded", command: Effect.void } as const

/** Makes the turn of an attention ready: it brings the commits of others into the files, and queues the message. A repetition does nothing twice. */
export const prepareWork = Effect.gen(function* () {
  const find = yield* makeFindWork
  const begin = yield* makeBegin
  const sync = yield* makeSync
  const end = yield* makeEndWork
  const mayAct = yield* makeCareMayAct
  const messageOf = yield* makeMessageOf
  const { oversight } = yield* Journal

  const prepare = Effect.fnUntraced(function* (attempt: RunningAttempt, work: CareWork) {
    const { row, session } = work
    const commanded = {
      name: "Cares.turn",
      by: carePrincipal(row, session.workspace_id),
      about: { type: "merge_request", id: work.request.id }
    }
    const isAllowed =
      (yield* mayAct(row, session.workspace_id)) && (yield* Effect.isSuccess(oversight.before(commanded)))
    if (!isAllowed) return yield* attempt.commit(end(work.attention.id, "owner_lost_access"))
    if (isOtherBase(work)) return yield* attempt.commit(end(work.attention.id, undefined))
    const synced = yield* sync(attempt, work)
    if (synced === "clean") return yield* attempt.commit(end(work.attention.id, undefined, { keepsCauses: true }))
    if (typeof synced === "string")
      return yield* attempt.commit(end(work.attention.id, synced === "moved" ? undefined : synced))
    const content = yield* messageOf(work, { ...synced, mark: randomBytes(9).toString("hex") })
    // Its checks and comments are gone.
    if (content === undefined) return yield* attempt.commit(end(work.attention.id, undefined))
    yield* failpoint("care.prepared")
    yield* attempt
      .commit(Effect.zipRight(begin(work, synced, content), oversight.inCommit(commanded)))
      .pipe(Effect.catchTag("ReinsError", ({ code, message }) => new JobError({ code, message, retryable: true })))
    yield* failpoint("care.begun")
  })

  return {
    run: fn("prepareJob.run")(function* (attempt) {
      const work = yield* find(attempt.claim.subject.id, "preparing")
      if (work !== undefined) yield* prepare(attempt, work)
      return done
    }),
    failed: ({ subject }, failure) => end(subject.id, reasonOf(failure)),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})

const reasons: Readonly<Record<string, CareReason>> = {
  auth_required: "auth_required",
  redirected: "branch_gone",
  repository_not_found: "branch_gone"
}

const reasonOf = ({ code }: JobFailure): CareReason => reasons[code] ?? "turn_failed"

/** Gives the commit that queues the turn. A turn of somebody else that came in between goes first, and the causes count again after it. */
const makeBegin = Effect.gen(function* () {
  const store = yield* CareStore
  const sessions = yield* SessionStore
  const inbox = yield* Inbox
  const snapshots = yield* Snapshots
  const find = yield* makeFindWork
  const end = yield* makeEndWork
  const mayAct = yield* makeCareMayAct
  const { waiting } = yield* followRows

  return Effect.fnUntraced(function* (
    { attention: { id }, session: { id: sessionId } }: CareWork,
    synced: Synced,
    content: string
  ) {
    const session = yield* sessions.lock(sessionId)
    const work = yield* find(id, "preparing")
    if (session === undefined || work === undefined) return
    if (!(yield* mayAct(work.row, session.workspace_id))) return yield* end(id, "owner_lost_access")
    if (synced.isSynced || synced.conflicts.length > 0) yield* snapshots.changed(sessionId)
    const isLater = session.turns.active !== null || session.turns.queued > 0
    // The work of that turn is one commit, and the turn of care another.
    if (isLater || (yield* waiting(work.request.id)).length > 0) return yield* end(id, undefined)
    const budget = leftOf(work.row)
    if (budget === undefined) return yield* end(id, "budget_exhausted")
    const sent = yield* inbox.post(session, careActor, { content, ...(budget !== null && { budget }) }, "care")
    const turning = yield* store.move(work.attention, "turning", {
      message_id: sent.message.id,
      turn_id: sent.turn_id ?? null,
      tree_before: synced.tree
    })
    const row = yield* store.change(work.row, { turns: work.row.turns + 1 })
    yield* store.tell(work.request, row, "merge_request.care_began", turning)
  })
})
