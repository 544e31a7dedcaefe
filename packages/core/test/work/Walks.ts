import type { NewEvent } from "@reins/base/domain/Event"
import { ChangesetId, DeliveryId, InteractionId, MergeRequestId, newId, TurnId } from "@reins/base/domain/Ids"
import { Effect } from "effect"

/** The ids of what a walk tells of: the same in each walk of a session, so that its events are about one another. */
export const things = Effect.all({
  turns: Effect.all([newId(TurnId), newId(TurnId)]),
  questions: Effect.all([newId(InteractionId), newId(InteractionId)]),
  changesets: Effect.all([newId(ChangesetId), newId(ChangesetId)]),
  delivery: newId(DeliveryId),
  request: newId(MergeRequestId)
})
type Things = Effect.Effect.Success<typeof things>

/** Events as rooms write them, with the members alone that lists are about. */
export const event = (type: string, payload: object, subjects: object = {}) => ({ type, payload, subjects }) as NewEvent

export const turnOf = ({ turns }: Things, which: 0 | 1, state: string) => ({
  id: turns[which],
  ordinal: which + 1,
  state,
  reason: null,
  reason_message: null,
  acknowledged_at: null
})

export const turn = (of: Things, which: 0 | 1, type: string, state: string) =>
  event(`turn.${type}`, { turn: turnOf(of, which, state) })

export const question = (of: Things, which: 0 | 1, type: "action_required" | "action_resolved") =>
  event(`turn.${type}`, {
    turn: turnOf(of, which, type === "action_required" ? "requires_action" : "running"),
    interaction: {
      id: of.questions[which],
      kind: "approval",
      title: `change ${which}`,
      subject: null,
      state: type === "action_required" ? "pending" : "answered",
      expires_at: "2030-01-01T00:00:00.000Z"
    }
  })

export const sealed = (of: Things, which: 0 | 1, empty = false) =>
  event(
    "changeset.ready",
    { state: "ready", origin: "turn", empty, file_count: 2, additions: 3, deletions: 1 },
    { changeset_id: of.changesets[which] }
  )

export const delivered = (of: Things, type: string, state: string) =>
  event(
    `delivery.${type}`,
    { state, reason: null, reason_message: null, target_ref: "reins/fix" },
    { changeset_id: of.changesets[0], delivery_id: of.delivery }
  )

const standing = (failing: number) => ({
  conflicts: "none",
  checks: { state: failing > 0 ? "failing" : "passing", passing: 1, failing, pending: 0 },
  reviews: { changes_requested: 0 },
  threads: { state: "read", open: 0 }
})

export const requested = ({ request }: Things, type: string, state: string, failing = 0) =>
  event(`merge_request.${type}`, {
    merge_request_id: request,
    state,
    reason: null,
    reason_message: null,
    base_branch: "main",
    number: 7,
    web_url: null,
    standing: state === "open" ? standing(failing) : null
  })

export const care = (of: Things, type: string) => event(`merge_request.care_${type}`, { merge_request_id: of.request })

/** Every kind of event that a walk has. */
export const kinds: ReadonlyArray<(of: Things) => NewEvent> = [
  (of) => turn(of, 0, "queued", "queued"),
  (of) => turn(of, 1, "queued", "queued"),
  (of) => turn(of, 0, "started", "running"),
  (of) => turn(of, 0, "succeeded", "succeeded"),
  (of) => turn(of, 0, "failed", "failed"),
  (of) => turn(of, 1, "interrupted", "interrupted"),
  (of) => event("turn.acknowledged", { turn: { ...turnOf(of, 1, "interrupted"), acknowledged_at: "2030-01-01" } }),
  (of) => question(of, 0, "action_required"),
  (of) => question(of, 0, "action_resolved"),
  (of) => sealed(of, 0),
  (of) => sealed(of, 1),
  (of) => sealed(of, 1, true),
  (of) => delivered(of, "requested", "pending"),
  (of) => delivered(of, "blocked", "blocked"),
  (of) => delivered(of, "succeeded", "succeeded"),
  (of) => requested(of, "opened", "open"),
  (of) => requested(of, "checks_changed", "open", 1),
  (of) => requested(of, "merged", "merged"),
  (of) => care(of, "handed_over"),
  (of) => care(of, "began"),
  () => event("session.archived", {}),
  () => event("session.unarchived", {}),
  () => event("usage.updated", {}),
  (of) => event("turn.result_checked", { turn_id: of.turns[0], ok: true, errors: [] })
]
