import type {
  ChangesetPayload,
  DeliveryPayload,
  Event,
  Interaction,
  MergeRequestPayload,
  Session,
  TurnSnapshot
} from "@reins/client"
import { count } from "../words/Words.js"

/** Where a session stands, as its events tell it. */
export interface Standing {
  readonly session: Session
  /** The number of the newest event that it holds. */
  readonly seq: number
  readonly turn: TurnSnapshot | null
  /** The questions that wait for an answer. */
  readonly interactions: ReadonlyArray<Interaction>
  /** The newest changeset that is not empty. */
  readonly changeset: (ChangesetPayload & { readonly id: string }) | null
  /** The newest delivery of that changeset. */
  readonly delivery: (DeliveryPayload & { readonly id: string }) | null
  readonly mergeRequest: MergeRequestPayload | null
  /** Words for what a person has to do, because care or merge conditions do not go on; null for nothing. */
  readonly left: string | null
  /** The time of the newest event that it holds. */
  readonly at: string
}

/** The types of events that say where a session stands. */
export const standingTypes = ["turn.*", "changeset.*", "delivery.*", "merge_request.*"] as const

/** A session of which no event was read. */
export const newStanding = (session: Session): Standing => ({
  session,
  seq: 0,
  turn: null,
  interactions: [],
  changeset: null,
  delivery: null,
  mergeRequest: null,
  left: null,
  at: session.created_at
})

/** The standing after an event. */
export const foldStanding = (before: Standing, event: Event): Standing => {
  const standing = { ...before, at: event.recorded_at }
  switch (event.type) {
    case "turn.action_required":
    case "turn.action_changed":
    case "turn.action_resolved": {
      const { interaction, turn } = event.payload
      const others = standing.interactions.filter(({ id }) => id !== interaction.id)
      return { ...standing, turn, interactions: interaction.state === "pending" ? [...others, interaction] : others }
    }
    case "turn.queued":
    case "turn.preparing":
    case "turn.started":
    case "turn.cancel_requested":
    case "turn.succeeded":
    case "turn.failed":
    case "turn.cancelled":
    case "turn.interrupted":
    case "turn.acknowledged": {
      const { turn } = event.payload
      // A later turn may wait in the queue while an earlier one runs.
      const isOlder = standing.turn !== null && turn.ordinal < standing.turn.ordinal
      const waits = turn.state === "queued" && standing.turn !== null && isLive(standing.turn)
      return isOlder || waits ? standing : { ...standing, turn }
    }
    case "changeset.capture_requested":
    case "changeset.ready":
    case "changeset.failed": {
      const id = event.changeset_id ?? ""
      if (event.payload.empty || event.payload.state !== "ready") return standing
      return { ...standing, changeset: { ...event.payload, id }, delivery: null, mergeRequest: null }
    }
    case "delivery.requested":
    case "delivery.progressed":
    case "delivery.succeeded":
    case "delivery.failed":
    case "delivery.blocked":
    case "delivery.cancelled":
      if (event.changeset_id !== undefined && event.changeset_id !== standing.changeset?.id) return standing
      return { ...standing, delivery: { ...event.payload, id: event.delivery_id ?? "" } }
    case "merge_request.requested":
    case "merge_request.opened":
    case "merge_request.merge_requested":
    case "merge_request.merge_failed":
    case "merge_request.merged":
    case "merge_request.closed":
    case "merge_request.failed":
    case "merge_request.readiness_requested":
    case "merge_request.readiness_changed":
    case "merge_request.readiness_failed":
    case "merge_request.replied":
    case "merge_request.base_changed":
    case "merge_request.head_changed":
    case "merge_request.checks_changed":
    case "merge_request.reviewed":
    case "merge_request.commented":
    case "merge_request.conflicted":
    case "merge_request.ready_to_merge":
    case "merge_request.conditions_given_up":
      return { ...standing, mergeRequest: event.payload, left: leftBy(event, standing.left) }
    case "merge_request.care_began":
    case "merge_request.care_proposed":
    case "merge_request.care_delivered":
    case "merge_request.care_handed_over":
    case "merge_request.care_ended":
      return { ...standing, left: leftBy(event, null) }
    default:
      return before
  }
}

const leftWords: Readonly<Record<string, string>> = {
  "merge_request.care_handed_over": "left to a person",
  "merge_request.care_proposed": "a change is proposed",
  "merge_request.conditions_given_up": "no longer merged by itself"
}

const leftBy = ({ type }: Event, before: string | null): string | null => {
  if (type === "merge_request.merged" || type === "merge_request.closed") return null
  return leftWords[type] ?? before
}

const isLive = ({ state }: TurnSnapshot): boolean => !/^(?:succeeded|failed|cancelled|interrupted)$/.test(state)

/** The words for what a person has to do about an open merge request; empty for nothing. */
export const requestNeeds = ({ standing, state }: MergeRequestPayload): ReadonlyArray<string> => {
  if (state !== "open" || standing === null) return []
  const { checks, conflicts, reviews, threads } = standing
  return [
    ...(conflicts === "conflicts" ? ["conflicts"] : []),
    ...(checks.state === "failing" ? [count(checks.failing, "failed check")] : []),
    ...(checks.state === "unreadable" ? ["checks not read"] : []),
    ...(reviews.changes_requested > 0 ? ["changes requested"] : []),
    ...(threads.open > 0 ? [count(threads.open, "open thread")] : [])
  ]
}

/** The parts of the inbox, in their order. */
export const sections = ["needs_you", "running", "ready_to_review", "failed", "delivered", "quiet"] as const
export type Section = (typeof sections)[number]

/** The part of the inbox that a session belongs to. */
export const sectionOf = ({
  changeset,
  delivery,
  interactions,
  left,
  mergeRequest,
  session,
  turn
}: Standing): Section => {
  if (interactions.length > 0 || session.activity === "requires_action" || session.activity === "attention")
    return "needs_you"
  if (session.activity === "running" || session.activity === "queued") return "running"
  if (delivery?.state === "blocked") return "needs_you"
  if (delivery?.state === "failed" || mergeRequest?.state === "failed" || turn?.state === "failed") return "failed"
  if (delivery?.state === "pending" || delivery?.state === "executing") return "running"
  if (left !== null || (mergeRequest !== null && requestNeeds(mergeRequest).length > 0)) return "needs_you"
  if (delivery?.state === "succeeded") return "delivered"
  if (changeset !== null) return "ready_to_review"
  return "quiet"
}
