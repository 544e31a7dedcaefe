import { cutText } from "@reins/base/base/CutText"
import type { EventPayloads, NewEvent } from "@reins/base/domain/Event"
import type { ChangesetId } from "@reins/base/domain/Ids"
import type { SessionLifecycle } from "../sessions/rows/Session.js"
import { holdsQueue, type Turn, type TurnState, turnStates } from "../sessions/rows/Turn.js"
import type { RequestNeed, WorkItem, WorkState, WorkView } from "./Work.js"

/** The work of a session as its events tell it. They are folded, so the facts are the same whoever makes them. */
export interface WorkFacts extends Pick<WorkItem, "changeset" | "questions" | "left"> {
  readonly lifecycle: SessionLifecycle
  /** True for a session that works for another one. */
  readonly isChild: boolean
  /** The turns that have not ended, or hold the queue, by their ids. */
  readonly unsettled: Readonly<Record<string, TurnState>>
  readonly turn: (NonNullable<WorkItem["turn"]> & Pick<Turn, "ordinal">) | null
  readonly delivery: WorkItem["delivery"]
  readonly mergeRequest:
    | (Omit<NonNullable<WorkItem["merge_request"]>, "waits_for"> & {
        readonly conflicts: boolean
        readonly checksUnreadable: boolean
        readonly changesRequested: boolean
      })
    | null
  /** True when the newest turn failed, and nothing has been delivered since. */
  readonly hasFailed: boolean
}

/** The facts of a session of which no event was read. */
export const noFacts = (isChild: boolean): WorkFacts => ({
  lifecycle: "open",
  isChild,
  unsettled: {},
  turn: null,
  questions: [],
  changeset: null,
  delivery: null,
  mergeRequest: null,
  left: null,
  hasFailed: false
})

const lifecycles: ReadonlyMap<string, SessionLifecycle> = new Map([
  ["session.archived", "archived"],
  ["session.unarchived", "open"],
  ["session.closed", "closed"]
])

/** The types of events that change the facts, and prefixes of such, which end with a point. */
export const workTypes = ["turn.", "changeset.", "delivery.", "merge_request.", ...lifecycles.keys()]

/** True for an event that changes the facts. */
export const isOfWork = (type: string): boolean =>
  workTypes.includes(type) || workTypes.includes(type.slice(0, type.indexOf(".") + 1))

const longestTitle = 200

type Event = Pick<NewEvent, "type" | "payload" | "subjects">

/** The facts after an event. Types that they know nothing of leave them as they are. */
export const foldWork = (before: WorkFacts, { payload, subjects, type }: Event): WorkFacts => {
  const lifecycle = lifecycles.get(type)
  if (lifecycle !== undefined) return { ...before, lifecycle }
  if (type === "turn.action_required" || type === "turn.action_changed" || type === "turn.action_resolved")
    return withQuestion(before, payload as EventPayloads["turn.action_required"])
  if (type.startsWith("turn.") && "turn" in payload) return withTurn(before, payload.turn)
  if (type.startsWith("changeset."))
    return withChangeset(before, subjects?.changeset_id, payload as EventPayloads["changeset.ready"])
  if (type.startsWith("delivery."))
    return withDelivery(before, subjects, payload as EventPayloads["delivery.succeeded"])
  if (type.startsWith("merge_request.care_")) return { ...before, left: leftBy(type, null) }
  if (type.startsWith("merge_request."))
    return withRequest(before, type, payload as EventPayloads["merge_request.opened"])
  return before
}

const withTurn = (before: WorkFacts, turn: Turn): WorkFacts => {
  const { [turn.id]: _, ...others } = before.unsettled
  const hasEnded = turnStates.isTerminal(turn.state)
  const unsettled = hasEnded && !holdsQueue(turn) ? others : { ...others, [turn.id]: turn.state }
  // The turn that asks is the one that runs, and nobody answers an agent that has ended.
  const questions = hasEnded && turn.id in before.unsettled ? [] : before.questions
  // A later turn may wait in the queue while an earlier one runs.
  const isOlder = before.turn !== null && turn.ordinal < before.turn.ordinal
  const waits = turn.state === "queued" && before.turn !== null && !turnStates.isTerminal(before.turn.state)
  if (isOlder || (waits && before.turn?.id !== turn.id)) return { ...before, questions, unsettled }
  const { id, ordinal, reason, reason_message, state } = turn
  return {
    ...before,
    questions,
    unsettled,
    turn: { id, ordinal, state, reason, reason_message },
    hasFailed: state === "failed"
  }
}

const withQuestion = (before: WorkFacts, { interaction, turn }: EventPayloads["turn.action_required"]): WorkFacts => {
  const others = before.questions.filter(({ id }) => id !== interaction.id)
  const { expires_at, id, kind, subject, title } = interaction
  const asked = {
    id,
    kind,
    title: cutText(title, longestTitle),
    complete: kind !== "approval" || subject?.complete === true,
    expires_at
  }
  const questions = interaction.state === "pending" ? [...others, asked] : others
  return { ...withTurn(before, turn), questions }
}

const withChangeset = (
  before: WorkFacts,
  id: ChangesetId | undefined,
  { additions, deletions, empty, file_count, origin, state }: EventPayloads["changeset.ready"]
): WorkFacts =>
  id === undefined || empty || state !== "ready"
    ? before
    : {
        ...before,
        changeset: { id, origin, files: file_count, additions, deletions },
        delivery: null,
        // The next delivery may bring the change to the branch of a request that is still open.
        mergeRequest: isOver(before.mergeRequest) ? null : before.mergeRequest
      }

const isOver = (request: WorkFacts["mergeRequest"]): boolean =>
  request?.state === "merged" || request?.state === "closed" || request?.state === "failed"

const withDelivery = (
  before: WorkFacts,
  subjects: Event["subjects"],
  { reason, reason_message, state, target_ref }: EventPayloads["delivery.succeeded"]
): WorkFacts => {
  const { changeset_id, delivery_id } = subjects ?? {}
  const isOfOther = changeset_id !== undefined && changeset_id !== before.changeset?.id
  if (delivery_id === undefined || isOfOther) return before
  return {
    ...before,
    delivery: { id: delivery_id, state, reason, reason_message, branch: target_ref },
    hasFailed: before.hasFailed && state !== "succeeded"
  }
}

const withRequest = (before: WorkFacts, type: string, payload: EventPayloads["merge_request.opened"]): WorkFacts => {
  const { base_branch, merge_request_id, number, reason, reason_message, standing, state, web_url } = payload
  const isRead = standing !== null && standing.checks.state !== "unreadable"
  const { failing, passing, pending } = standing?.checks ?? { failing: 0, passing: 0, pending: 0 }
  return {
    ...before,
    left: state === "merged" || state === "closed" ? null : leftBy(type, before.left),
    mergeRequest: {
      id: merge_request_id,
      state,
      reason,
      reason_message,
      number,
      web_url,
      base_branch,
      checks: isRead ? { passing, failing, pending } : null,
      threads: standing !== null && standing.threads.state === "read" ? standing.threads.open : null,
      conflicts: standing?.conflicts === "conflicts",
      checksUnreadable: standing?.checks.state === "unreadable",
      changesRequested: (standing?.reviews.changes_requested ?? 0) > 0
    }
  }
}

const leaving: Readonly<Record<string, NonNullable<WorkFacts["left"]>>> = {
  "merge_request.care_handed_over": "care_handed_over",
  "merge_request.care_proposed": "care_proposed",
  "merge_request.conditions_given_up": "conditions_given_up"
}

const leftBy = (type: string, before: WorkFacts["left"]): WorkFacts["left"] => leaving[type] ?? before

/** The needs of an open merge request, which a person meets. */
export const needsOf = ({ mergeRequest }: WorkFacts): ReadonlyArray<RequestNeed> => {
  if (mergeRequest?.state !== "open") return []
  const { changesRequested, checks, checksUnreadable, conflicts, threads } = mergeRequest
  return [
    ...(conflicts ? (["conflicts"] as const) : []),
    ...((checks?.failing ?? 0) > 0 ? (["checks_failing"] as const) : []),
    ...(checksUnreadable ? (["checks_unreadable"] as const) : []),
    ...(changesRequested ? (["changes_requested"] as const) : []),
    ...((threads ?? 0) > 0 ? (["open_threads"] as const) : [])
  ]
}

/** Where the work stands: the first state that holds. */
export const workStateOf = (facts: WorkFacts): WorkState => {
  const { changeset, delivery, hasFailed, left, mergeRequest, questions } = facts
  const turns = Object.values(facts.unsettled)
  if (questions.length > 0) return "asks"
  if (turns.includes("interrupted")) return "interrupted"
  if (turns.some((state) => state !== "queued")) return "running"
  if (turns.length > 0) return "queued"
  if (delivery?.state === "blocked") return "blocked"
  if (hasFailed || delivery?.state === "failed" || mergeRequest?.state === "failed") return "failed"
  if (delivery?.state === "pending" || delivery?.state === "executing") return "running"
  if (left !== null) return "handed_over"
  if (needsOf(facts).length > 0) return "needs_changes"
  if (changeset !== null && delivery === null) return "review"
  if (mergeRequest?.state === "open" || mergeRequest?.state === "pending") return "in_review"
  if (mergeRequest?.state === "merged") return "merged"
  return delivery?.state === "succeeded" ? "delivered" : changeset === null ? "idle" : "review"
}

const waiting: ReadonlySet<WorkState> = new Set([
  "asks",
  "interrupted",
  "blocked",
  "failed",
  "handed_over",
  "needs_changes",
  "review"
])

/** The list that a session stands in. A session that works for another one leaves its changes and its failures to that one. */
export const viewOf = ({ isChild, lifecycle }: WorkFacts, state: WorkState): WorkView => {
  if (lifecycle !== "open") return "archived"
  if (state === "running" || state === "queued") return "working"
  if (isChild && (state === "review" || state === "failed")) return "open"
  return waiting.has(state) ? "waiting" : "open"
}

const news: ReadonlySet<string> = new Set([
  "turn.action_required",
  "turn.succeeded",
  "turn.failed",
  "turn.cancelled",
  "turn.interrupted",
  "delivery.blocked",
  "delivery.failed",
  "delivery.succeeded",
  "merge_request.merged",
  "merge_request.closed",
  "merge_request.failed",
  "merge_request.conflicted",
  "merge_request.care_handed_over",
  "merge_request.care_proposed",
  "merge_request.conditions_given_up"
])

/** True for an event that makes a session unread for all but the one who caused it. A turn is queued by the message of somebody. */
export const isNews = (type: string, isByPerson: boolean): boolean =>
  news.has(type) || (type === "turn.queued" && isByPerson)
