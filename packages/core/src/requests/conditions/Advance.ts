import type { Actor } from "@reins/base/domain/Event"
import type { MergeRequestId } from "@reins/base/domain/Ids"
import { toMillis } from "@reins/base/domain/Timestamp"
import { methodFor } from "@reins/machine/forge/BranchDemands"
import { Clock, Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import type { OperationRef } from "../../jobs/Job.js"
import { JobStore } from "../../jobs/JobStore.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import type { SequelEnd } from "../looks/LookSequel.js"
import { type ConditionRow, conditionRows, movedTo, type SeenForConditions } from "../rows/ConditionRows.js"
import { type GivenUpReason, type UnmetCondition, unmet } from "../rows/MergeConditions.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { maxAttempts, mergeJobKind } from "../rows/MergeRequestJobs.js"
import { MergeRequestStore } from "../rows/MergeRequestStore.js"
import { partReads } from "../rows/PartRows.js"
import type { LastingRefusal } from "../rows/RequestListeners.js"
import { makeMayChange, makeUnmet } from "./FactReads.js"

const actor = systemActor("merge_requests")

/** The pause after the forge has declined a merge so many times, in milliseconds. */
export const pauseAfterMs = (refusals: number): number => 15_000 * 4 ** Math.max(0, refusals - 1)

/** The time until a merge that somebody else has asked for is expected to have ended, in milliseconds. */
const busyMs = 30_000

const idle: SequelEnd = { dueMs: Number.POSITIVE_INFINITY, hasBegun: false }

/** Gives the functions that give conditions up and begin their merge, in the commit of whoever has decided that. */
export const makeConditionMoves = Effect.gen(function* () {
  const jobs = yield* JobStore
  const rows = yield* conditionRows
  const store = yield* MergeRequestStore
  return {
    giveUp: Effect.fnUntraced(function* (row: ConditionRow, reason: GivenUpReason, message: string) {
      yield* rows.write(movedTo(row, "given_up", { reason, message }))
      yield* store.conditioned(row.id, ["merge_request.conditions_given_up"], actor)
    }),
    /** Begins the merge of a head at which everything holds. */
    begin: Effect.fnUntraced(function* (
      row: ConditionRow,
      { session, head, by }: { readonly session: SessionRow; readonly head: string; readonly by: Actor }
    ) {
      const { delete_branch } = row.shown
      const { anyMethod = false, rules } = row.seen
      const method = methodFor(rules?.demands ?? [], row.shown.method, anyMethod) ?? row.shown.method
      const shown = { ...row.shown, method }
      const merging = movedTo({ ...row, shown }, "merging", { waiting_for: [], head_sha: head })
      const round = row.round + 1
      yield* rows.write({ ...merging, round, seen: { ...row.seen, readyHead: head } })
      if (row.seen.readyHead !== head) yield* store.conditioned(row.id, ["merge_request.ready_to_merge"], by)
      yield* store.mergeRequested(row.id, by)
      const operation: OperationRef = yield* jobs.enqueue({
        kind: mergeJobKind,
        subject: { type: "merge_request", id: row.id },
        workspaceId: session.workspace_id,
        payload: { expected_head_sha: head, method, delete_branch, round },
        maxAttempts
      })
      return operation
    })
  }
})

/** Gives what conditions that wait do at any look, also at one that could not read the forge. */
const makeWaits = Effect.gen(function* () {
  const rows = yield* conditionRows
  const store = yield* MergeRequestStore
  const { giveUp } = yield* makeConditionMoves

  /** Gives up conditions whose time is over, and tells how long the others still have. */
  const expire = Effect.fnUntraced(function* (row: ConditionRow | undefined) {
    const until = row?.shown.give_up_at ?? null
    if (row?.shown.state !== "waiting" || until === null) return idle.dueMs
    const leftMs = toMillis(until) - (yield* Clock.currentTimeMillis)
    if (leftMs > 0) return leftMs
    yield* giveUp(row, "waited_too_long", tooLong)
    return undefined
  })

  /** Tells that the conditions wait for the forge, once a look has said that it cannot be read. */
  const unreadable = Effect.fnUntraced(function* (row: ConditionRow) {
    const { standing } = (yield* store.find(row.id)) ?? { standing: null }
    const why = standing?.waiting_for.find(({ kind }) => kind === "forge_unreadable")
    if (why === undefined || row.shown.waiting_for.some(({ kind }) => kind === "forge_unreadable")) return
    yield* rows.write({ ...row, shown: { ...row.shown, waiting_for: [unmet("forge_unreadable", why.message)] } })
    yield* store.conditioned(row.id, [], actor)
  })

  return { expire, unreadable }
})

/** Gives the functions that bring the conditions of a merge request on, in the commit of a look. */
export const makeAdvance = Effect.gen(function* () {
  const jobs = yield* JobStore
  const rows = yield* conditionRows
  const sessions = yield* SessionStore
  const store = yield* MergeRequestStore
  const mayChange = yield* makeMayChange
  const unmetNow = yield* makeUnmet
  const { hasChecks } = yield* partReads
  const { begin, giveUp } = yield* makeConditionMoves
  const { expire, unreadable } = yield* makeWaits

  const whileWaiting = Effect.fnUntraced(function* (row: ConditionRow, request: MergeRequest, leftMs: number) {
    const session = yield* sessions.find(request.session_id)
    const head = request.head_sha ?? ""
    if (session === undefined) return idle
    const found = yield* unmetNow(request, session, row)
    const kinds = new Set(found.map(({ kind }) => kind))
    if (kinds.has("no_check_reports") && !kinds.has("check") && !(yield* hasChecks(request.id))) {
      if (row.shown.state === "waiting") yield* giveUp(row, "checks_do_not_run", noChecks)
      return idle
    }
    const missing = missingAt(row, head, found, yield* Clock.currentTimeMillis)
    if (missing !== undefined && missing.leftMs <= 0 && row.shown.state === "waiting") {
      yield* giveUp({ ...row, shown: { ...row.shown, waiting_for: found } }, "checks_do_not_run", missing.message)
      return idle
    }
    const isRefused = row.seen.refused?.head === head
    if (found.length > 0 || row.shown.state !== "waiting") {
      const { shown } = row
      const seen = { ...row.seen, missing: missing?.seen }
      // The word of the forge stands until another head or a person comes.
      const waiting_for = found.length === 0 && isRefused ? shown.waiting_for : found
      const refusals = isRefused ? (seen.refused?.count ?? 0) : 0
      const next = { ...shown, waiting_for, head_sha: request.head_sha, refusals }
      yield* rows.write({ ...row, seen, shown: next })
      if (JSON.stringify(next) !== JSON.stringify(shown)) yield* store.conditioned(row.id, [], actor)
      return { dueMs: Math.min(leftMs, missing?.leftMs ?? leftMs), hasBegun: false }
    }
    if (!(yield* mayChange(row, session))) {
      yield* giveUp(row, "owner_lost_access", mergeRightLost)
      return idle
    }
    const { refused } = row.seen
    const pauseMs =
      refused?.head === head ? refused.at + pauseAfterMs(refused.count) - (yield* Clock.currentTimeMillis) : 0
    const merge = { kind: mergeJobKind, subjectId: row.id, workspaceId: session.workspace_id }
    const isBusy = (yield* jobs.findLive(merge)) !== undefined
    if (pauseMs > 0 || isBusy) {
      yield* rows.write(row)
      return { dueMs: Math.min(leftMs, isBusy ? busyMs : pauseMs), hasBegun: false }
    }
    yield* begin(row, { session, head, by: actor })
    return { dueMs: idle.dueMs, hasBegun: true }
  })

  return {
    /** After a look that has read the forge. `seen` is what it has read for the conditions. */
    afterLook: Effect.fnUntraced(function* (id: MergeRequestId, seen: SeenForConditions | undefined) {
      const found = yield* rows.hold(id)
      const request = yield* store.find(id)
      if (found === undefined || request?.state !== "open") return idle
      const row = { ...found, seen: { ...found.seen, ...seen } }
      if (row.shown.state === "merging") return idle
      const leftMs = yield* expire(row)
      if (leftMs === undefined) return idle
      // Conditions that were set during the look have read nothing yet.
      return yield* whileWaiting(row, request, seen === undefined ? 0 : leftMs)
    }),
    /** After a look that could not read the forge. `why` ends conditions, as the end of their time does. Gives the milliseconds that are left. */
    afterFailure: Effect.fnUntraced(function* (id: MergeRequestId, why: LastingRefusal | undefined) {
      const row = yield* rows.hold(id)
      const leftMs = yield* expire(row)
      if (leftMs === undefined || row?.shown.state !== "waiting") return leftMs ?? idle.dueMs
      if (why !== undefined) return yield* Effect.as(giveUp(row, why, notShown[why]), idle.dueMs)
      yield* unreadable(row)
      return leftMs
    })
  }
})

/** A demanded check may report so long after the others have ended. */
const missingMs = 30 * 60_000

/** The milliseconds that demanded checks have left to report. Undefined while others run, and when none is missing. */
const missingAt = ({ seen }: ConditionRow, head: string, found: ReadonlyArray<UnmetCondition>, nowMs: number) => {
  const names = found.flatMap((each) => (each.kind === "check" ? each.names : []))
  if (names.length === 0 || found.some(({ kind }) => stillMoving.has(kind))) return undefined
  const since = seen.missing?.head === head ? seen.missing.since : nowMs
  const message = `${names.map((each) => JSON.stringify(each)).join(", ")} ${missingLong}`
  return { seen: { head, since }, leftMs: since + missingMs - nowMs, message }
}

const stillMoving: ReadonlySet<UnmetCondition["kind"]> = new Set(["checks_pending", "checks_failing"])

const missingLong =
  "has not reported for half an hour in which no other check ran, although the forge demands it. A path filter may keep it from running. Begin it by hand or mend the rule, then set the conditions again."

const noChecks =
  'No check has reported within ten minutes of the head, nor ever before, so the repository may have no CI. Merge it yourself, or set the conditions again with checks "none".'

const notShown: Readonly<Record<LastingRefusal, string>> = {
  auth_required:
    "The forge has refused the credential at every look for half an hour. Mend the connection, then set the conditions again.",
  branch_gone:
    "The forge has not shown the merge request for half an hour. Look whether it or its repository is still there, then set the conditions again."
}

const tooLong = "The conditions did not hold in time. Set them again if they still should be waited for."

export const mergeRightLost =
  "The account that has set the conditions may not change the session any more, or its API key is gone. Somebody who may has to set them again."
