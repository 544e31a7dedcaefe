import { fn } from "@reins/base/base/Traced"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import type { Changeset } from "../changes/Changeset.js"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import { deliveryError } from "../deliveries/work/DeliveryRemote.js"
import type { JobWork, RunningAttempt } from "../jobs/JobKind.js"
import { WatchStore } from "../requests/rows/WatchStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import { CareStore } from "./CareStore.js"
import { makeDeliver } from "./Delivering.js"
import { makeGoOn } from "./EveryTurn.js"
import { followRows } from "./FollowRows.js"
import { makeHandOver } from "./HandOver.js"
import { isOtherBase, makeLeftMarks } from "./Merging.js"
import { touchesProtected } from "./Paths.js"
import { makePost } from "./Posting.js"
import { makeSummary } from "./Summary.js"
import { type CareWork, makeEndWork, makeFindWork } from "./Work.js"

const done = { state: "succeeded", command: Effect.void } as const

/** Judges what the turn of an attention has made: nothing, something for a person, or a delivery on top of the head. */
export const deliverCareWork = Effect.gen(function* () {
  const find = yield* makeFindWork
  const end = yield* makeEndWork
  const changesets = yield* ChangesetStore
  const { newestWork } = yield* followRows
  const touched = yield* makeTouched
  const leftMarks = yield* makeLeftMarks
  const steps = yield* makeUndelivered
  const deliver = yield* makeDeliver

  const judge = Effect.fnUntraced(function* (attempt: RunningAttempt, work: CareWork) {
    const { attention, row, session } = work
    // A turn of somebody else may have ended since.
    const id = attention.turn_id === null ? undefined : yield* newestWork(session.id, attention.turn_id)
    const made = id && (yield* changesets.find(id))
    if (made === undefined || made.tree === null || made.tree === attention.tree_before)
      return yield* attempt.commit(steps.nothing(attention.id))
    // The files hold the merge of another branch, which nobody wants any more.
    if (isOtherBase(work) || (yield* leftMarks(work, made.tree)).length > 0)
      return yield* attempt.commit(end(attention.id, "merge_conflict"))
    const paths = yield* touched(work, made.tree)
    const isProtected = yield* touchesProtected(paths, row)
    if (isProtected || attention.proposes === 1)
      return yield* attempt.commit(steps.propose(attention.id, made, isProtected))
    yield* deliver(attempt, work, made)
  })

  return {
    run: fn("deliverCareJob.run")(function* (attempt) {
      const work = yield* find(attempt.claim.subject.id, "delivering")
      if (work !== undefined && work.attention.delivery_id === null) yield* judge(attempt, work)
      return done
    }),
    failed: ({ subject }) => end(subject.id, "turn_failed"),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})

/** Gives the function that finds the paths that a turn has changed. */
const makeTouched = Effect.gen(function* () {
  const { changes } = yield* Bench
  const trees = yield* WorkingTrees
  return Effect.fnUntraced(function* ({ attention, session }: CareWork, tree: string) {
    yield* trees.requireOwned(session.id)
    const { files } = yield* changes
      .diff({ session: session.id, base: attention.tree_before, tree }, {})
      .pipe(Effect.mapError(deliveryError))
    return files.flatMap(({ old_path, path }) => [path, ...(old_path === undefined ? [] : [old_path])])
  })
})

/** The commits of turns that deliver nothing by themselves. */
export const makeUndelivered = Effect.gen(function* () {
  const store = yield* CareStore
  const sessions = yield* SessionStore
  const watches = yield* WatchStore
  const find = yield* makeFindWork
  const handOver = yield* makeHandOver
  const goOn = yield* makeGoOn
  const post = yield* makePost
  const summaryOf = yield* makeSummary

  const held = Effect.fnUntraced(function* (id: string) {
    const known = yield* store.attention(id)
    if (known === undefined) return undefined
    yield* sessions.lock(known.session_id)
    yield* store.lock(known.merge_request_id)
    return yield* find(id, "delivering")
  })

  return {
    /** A turn that has changed nothing has answered comments, and has mended no check. */
    nothing: Effect.fnUntraced(function* (id: string) {
      const work = yield* held(id)
      if (work === undefined) return
      const { attention, request, row } = work
      if (attention.fingerprint !== null) return yield* Effect.asVoid(handOver(request, row, "no_change", attention))
      const ended = yield* store.move(attention, "done")
      const watching = yield* store.change(row, { state: "watching", attention_id: null })
      yield* post(request, watching, { id: ended.id, attention: ended, text: yield* summaryOf(ended) })
      yield* goOn(request, watching)
      yield* watches.ring(request.id, false)
    }),
    propose: Effect.fnUntraced(function* (id: string, { id: changesetId }: Changeset, isProtected: boolean) {
      const work = yield* held(id)
      if (work === undefined) return
      const { attention, request, row } = work
      const proposed = yield* store.move(attention, "proposed", {
        changeset_id: changesetId,
        reason: isProtected ? "protected_path" : null,
        // A changeset on top of a proposal is a proposal too.
        proposes: isProtected ? attention.proposes : 1
      })
      yield* store.tell(request, row, "merge_request.care_proposed", proposed)
      if (isProtected) yield* handOver(request, row, "protected_path", proposed)
    })
  }
})
