import { Effect } from "effect"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import type { EarlierDelivery } from "../changes/DeliveryRows.js"
import { DeliveryStore } from "../changes/DeliveryStore.js"
import { partReads } from "../changes/looks/PartRows.js"
import type { RequestSight } from "../changes/looks/RequestListeners.js"
import { rerunJobKind } from "../changes/MergeRequestJobs.js"
import { requestReplies } from "../changes/RequestReplies.js"
import { toMillis } from "../domain/Timestamp.js"
import { Forges } from "../forge/Forges.js"
import { JobStore } from "../jobs/JobStore.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { makeCareMayAct } from "./Acting.js"
import type { AttentionCause } from "./Care.js"
import { type CareRow, CareStore, leftOf, policyOf } from "./CareStore.js"
import { type CareSeen, type CareStep, decide, type SeenComment } from "./Decision.js"
import { followsTurns, makeCatchUp } from "./EveryTurn.js"
import { makeHandOver } from "./HandOver.js"
import { makeMemory } from "./Memory.js"
import { newAttention } from "./NewAttention.js"

/** The kind of the job that makes the turn of an attention ready. */
export const prepareJobKind = "care.prepare"

/** A forge shows our push within so long. */
const behindMs = 10 * 60_000

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

/** Gives the function that puts together what a decision is made of. */
const makeSeen = Effect.gen(function* () {
  const store = yield* CareStore
  const deliveries = yield* DeliveryStore
  const forges = yield* Forges
  const { hasChecks } = yield* partReads
  const replies = yield* requestReplies
  const isUndelivered = yield* makeIsUndelivered

  return Effect.fnUntraced(function* (sight: RequestSight, session: SessionRow, row: CareRow) {
    const { request } = sight
    const head = request.head_sha ?? ""
    const pushed = yield* deliveries.pushedTo(request.session_id, request.head_branch)
    const posts = yield* store.postsOf(request.id)
    const ids = new Set(posts.map(({ forge_id }) => forge_id))
    const isReply = yield* replies.knownOf(request.id)
    const isOurs = (id: string, body: string) =>
      ids.has(id) || posts.some(({ mark }) => body.includes(mark)) || isReply(id, body)
    const seen: CareSeen = {
      isFork: sight.isFork,
      head,
      base: request.base_branch,
      isBehind: isBehind(pushed, head, sight.nowMs),
      isBusy: session.turns.active !== null || session.turns.queued > 0,
      isUndelivered: !followsTurns(row) && (yield* isUndelivered(session, pushed[0])),
      checks:
        request.standing === null || sight.unread.has("checks")
          ? undefined
          : sight.checks.map(({ ended_at, id, key, name, on_base: onBase, optional, started_at, state }) => {
              const at = Date.parse(ended_at ?? started_at ?? "")
              return { id, key, name, onBase, optional, state, endedMs: Number.isNaN(at) ? null : at }
            }),
      baseUnreadSinceMs: sight.baseUnreadSinceMs,
      canRerun: forges.find(request.forge)?.can.has("rerun") === true,
      comments: commentsOf(sight, isOurs),
      isSilent:
        isMissing(sight) ||
        (request.standing?.waiting_for.some(({ kind }) => kind === "no_check_reports") === true &&
          !(yield* hasChecks(request.id))),
      isConflicted: request.standing?.conflicts === "conflicts"
    }
    return seen
  })
})

/** True when the conditions of this head were given up, because a demanded check does not report. */
const isMissing = ({ request: { conditions, head_sha: head } }: RequestSight): boolean =>
  conditions?.state === "given_up" && conditions.reason === "checks_do_not_run" && conditions.head_sha === head

/** True for a head that was there before our newest push, which the forge has not looked at yet. */
const isBehind = (pushed: ReadonlyArray<EarlierDelivery>, head: string, nowMs: number): boolean => {
  const newest = pushed[0]?.delivery
  if (newest === undefined || newest.commit === head || nowMs - toMillis(newest.updated_at) > behindMs) return false
  return newest.parents.includes(head) || pushed.some(({ delivery }) => delivery.commit === head)
}

/** Gives the function that finds changes of people in a session which were not delivered. What a turn of care has left is none. */
const makeIsUndelivered = Effect.gen(function* () {
  const store = yield* CareStore
  const changesets = yield* ChangesetStore
  return Effect.fnUntraced(function* (session: SessionRow, pushed: EarlierDelivery | undefined) {
    const newest = yield* changesets.newestSealed(session.id)
    if (newest === undefined || pushed === undefined || newest.tree === pushed.tree) return false
    if (newest.id <= pushed.delivery.changeset_id) return false
    return newest.source_turn_id === null || (yield* store.attentionOfTurn(newest.source_turn_id)) === undefined
  })
})

/** The comments that this look has read. Those of an earlier one may be resolved or gone. */
const commentsOf = (
  { reviews, threads, unread, writers }: RequestSight,
  isOurs: (id: string, body: string) => boolean
): ReadonlyArray<SeenComment> => [
  ...(unread.has("threads") ? [] : threads).flatMap(({ comments, resolved }) =>
    comments.map(({ author, body, forge_id, written_at }) => ({
      id: forge_id,
      author: { login: author.login, isBot: author.kind === "bot", mayWrite: writers[author.login] === true },
      isOurs: isOurs(forge_id, body),
      isResolved: resolved === true,
      writtenMs: Date.parse(written_at) || 0,
      body
    }))
  ),
  ...(unread.has("reviews") ? [] : reviews)
    .filter(({ body, state }) => body.trim() !== "" && (state === "changes_requested" || state === "commented"))
    .map(({ author, body, id, submitted_at }) => ({
      id,
      author: { login: author.login, isBot: author.kind === "bot", mayWrite: writers[author.login] === true },
      isOurs: isOurs(id, body),
      isResolved: false,
      writtenMs: Date.parse(submitted_at ?? "") || 0,
      body
    }))
]
