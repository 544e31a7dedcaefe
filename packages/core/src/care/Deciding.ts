import { Effect } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import { rerunJobKind } from "../requests/rows/MergeRequestJobs.js"
import type { RequestSight } from "../requests/rows/RequestListeners.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { makeCareMayAct } from "./Acting.js"
import type { AttentionCause } from "./Care.js"
import { type CareRow, CareStore, leftOf, policyOf } from "./CareStore.js"
import { type CareStep, decide } from "./Decision.js"
import { makeCatchUp } from "./EveryTurn.js"
import { makeHandOver } from "./HandOver.js"
import { makeMemory } from "./Memory.js"
import { newAttention } from "./NewAttention.js"
import { makeSeen } from "./Seen.js"

/** The kind of the job that makes the turn of an attention ready. */
export const prepareJobKind = "care.prepare"

/** Gives the function that decides in the commit of a look, and writes down what follows. It gives the milliseconds until it has to decide again. */
export const makeDeciding = Effect.gen(function* () {
  const store = yield* CareStore
  const sessions = yield* SessionStore
  const jobs = yield* JobStore
  const handOver = yield* makeHandOver
  const attend = yield* makeAttend
  const mayAct = yield* makeCareMayAct
  const memoryOf = yield* makeMemory
  const seenOf = yield* makeSeen
  const supersede = yield* makeSupersede
  const catchUp = yield* makeCatchUp

  const act = Effect.fnUntraced(function* (sight: RequestSight, row: CareRow, session: SessionRow, step: CareStep) {
    const { request } = sight
    switch (step.do) {
      case "wait":
        return step.untilMs === undefined ? undefined : Math.max(0, step.untilMs - sight.nowMs)
      case "hand_over":
        yield* store.settle(request.id, step.causes)
        yield* handOver(request, row, step.reason)
        return undefined
      case "rerun":
        if (!(yield* mayAct(row, session.workspace_id)))
          return yield* Effect.as(handOver(request, row, "owner_lost_access"), undefined)
        yield* store.noteReruns(request.id, step.keys)
        yield* jobs.enqueue({
          kind: rerunJobKind,
          subject: { type: "merge_request", id: request.id },
          workspaceId: session.workspace_id,
          payload: { check_ids: step.checks },
          maxAttempts: 5
        })
        return undefined
      case "turn":
        return yield* Effect.as(attend(sight, row, session, step), undefined)
    }
  })

  return Effect.fnUntraced(function* (sight: RequestSight) {
    const { request } = sight
    if ((yield* store.find(request.id)) === undefined) return undefined
    const session = yield* sessions.lock(request.session_id)
    const locked = yield* store.lock(request.id)
    if (session === undefined || locked === undefined) return undefined
    const current = yield* supersede(locked, request.head_sha)
    const row = sight.isFork ? current : yield* catchUp(request, current, session)
    if (row.state !== "watching") return undefined
    const rules = policyOf(row)
    const known = yield* memoryOf(row, request.head_sha ?? "")
    const memory = { ...known, turns: row.turns, isSpent: leftOf(row) === undefined }
    return yield* act(sight, row, session, decide(yield* seenOf(sight, session, row), memory, rules, sight.nowMs))
  })
})

/** Gives the function that begins an attention, whose turn a job makes ready. */
const makeAttend = Effect.gen(function* () {
  const store = yield* CareStore
  const jobs = yield* JobStore

  return Effect.fnUntraced(function* (
    { request }: RequestSight,
    row: CareRow,
    session: SessionRow,
    step: Extract<CareStep, { readonly do: "turn" }>
  ) {
    const attention = yield* newAttention(request, row, {
      head_sha: request.head_sha ?? "",
      fingerprint: step.fingerprint,
      causes: JSON.stringify(causesOf(step)),
      proposes: step.proposes ? 1 : 0
    })
    const { id } = attention
    yield* store.attend(attention, step.causes)
    yield* store.change(row, { state: "working", attention_id: id })
    yield* jobs.enqueue({
      kind: prepareJobKind,
      subject: { type: "attention", id },
      workspaceId: session.workspace_id,
      payload: {},
      filesOf: session.id,
      maxAttempts: 8
    })
  })
})

const causesOf = (step: Extract<CareStep, { readonly do: "turn" }>): ReadonlyArray<AttentionCause> =>
  [
    ...(step.checks.length > 0 ? [{ kind: "checks" as const, check_ids: step.checks, comment_ids: [] }] : []),
    ...(step.comments.length > 0 ? [{ kind: "comments" as const, check_ids: [], comment_ids: step.comments }] : []),
    ...(step.isConflict ? [{ kind: "conflict" as const, check_ids: [], comment_ids: [] }] : [])
  ] as ReadonlyArray<AttentionCause>

/** Gives the function that lets a care go on when somebody has moved the branch past what it has proposed. */
const makeSupersede = Effect.gen(function* () {
  const store = yield* CareStore
  return Effect.fnUntraced(function* (row: CareRow, head: string | null) {
    if (row.state !== "working" || row.attention_id === null) return row
    const attention = yield* store.attention(row.attention_id)
    if (attention?.state !== "proposed" || attention.head_sha === head) return row
    yield* store.move(attention, "superseded")
    return yield* store.change(row, { state: "watching", attention_id: null })
  })
})
