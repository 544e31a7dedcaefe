import { field } from "@reins/base/domain/Field"
import {
  AccountId,
  AttentionId,
  ChangesetId,
  CheckId,
  DeliveryId,
  MergeRequestId,
  MessageId,
  TurnId
} from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { BudgetInput } from "../budgets/Budget.js"
import { CareDelivers, CareOf } from "../projects/CarePolicy.js"
import { CareState } from "../requests/rows/CareState.js"

/** The moves of a care. One that was handed over or has ended watches again when somebody puts it. */
export const careStates = /* @__PURE__ */ StateMachine.make<CareState>("care", {
  watching: ["working", "handed_over", "ended"],
  working: ["watching", "handed_over", "ended"],
  handed_over: ["watching", "ended"],
  ended: ["watching"]
})

export const CareReason = Schema.Literal(
  "turns_exhausted",
  "budget_exhausted",
  "same_failure",
  "no_change",
  "turn_failed",
  "protected_path",
  "head_keeps_moving",
  "merge_conflict",
  "undelivered_changes",
  "checks_need_approval",
  "checks_do_not_run",
  "red_on_base",
  "fork",
  "branch_gone",
  "auth_required",
  "push_refused",
  "owner_lost_access",
  "stopped_by_comment"
).annotations({ identifier: "CareReason", description: "Why a person has to go on." })
export type CareReason = typeof CareReason.Type

export const CareEnd = Schema.Literal("merged", "closed", "removed").annotations({
  description: "Why care has ended: the merge request was merged or closed, or somebody has removed the care."
})
export type CareEnd = typeof CareEnd.Type

/** Written out as one list: generators of clients emit a union of named lists before the lists themselves. */
export const CareOutcome = Schema.Literal(...CareReason.literals, ...CareEnd.literals)

export const CarePolicy = Schema.Struct({
  checks: field(CareOf, "What is done about checks that have failed."),
  reviews: field(CareOf, "What is done about comments and reviews of people who may write to the repository."),
  conflicts: field(CareOf, "What is done about conflicts with the base branch."),
  max_turns: field(Schema.Int, "The most turns before a person is asked."),
  budget: field(Schema.NullOr(BudgetInput), "What the model calls of all its turns may spend; null for no limit."),
  rerun_first: field(
    Schema.Boolean,
    "True begins a failed check anew once before a turn works on it, where the forge can."
  ),
  bots: field(Schema.Array(Schema.String), "The logins of bots whose comments count like those of people."),
  reply: field(Schema.Literal("summary", "off"), "Whether it comments on the merge request."),
  deliver: field(CareDelivers, "The turns whose changes are delivered on top of the branch."),
  protected_paths: field(Schema.Array(Schema.String), "Files that only a person delivers changes of.")
})
export type CarePolicy = typeof CarePolicy.Type

export const Care = Schema.Struct({
  merge_request_id: field(MergeRequestId, "The merge request that is cared for."),
  state: field(CareState, "Where it stands."),
  reason: field(Schema.NullOr(CareOutcome), "Why it was handed over or has ended; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  acts_for: field(
    AccountId,
    "The account whose rights its turns and deliveries have. They are asked for anew each time."
  ),
  turns: field(Schema.Int, "The turns so far, since somebody has put it."),
  spent_tokens: field(Schema.Int, "The tokens that these have spent, while there is a budget."),
  ...CarePolicy.fields,
  attention_id: field(Schema.NullOr(AttentionId), "What it works on now; null for nothing."),
  version: field(Schema.Int, "Grows by one with each change."),
  created_at: field(Timestamp, "The time at which it began first."),
  updated_at: field(Timestamp, "The time of its last change.")
}).annotations({
  identifier: "Care",
  description: "The care for a merge request, until it is merged or a person goes on."
})
export type Care = typeof Care.Type

export const AttentionState = Schema.Literal(
  "preparing",
  "turning",
  "delivering",
  "proposed",
  "done",
  "superseded",
  "failed"
).annotations({
  description:
    "`preparing`: its turn is made ready, or the work of a turn waits for an earlier delivery. `proposed`: a person delivers what was made. `superseded`: the merge request has moved on."
})
export type AttentionState = typeof AttentionState.Type

/** The moves of an attention. */
export const attentionStates = /* @__PURE__ */ StateMachine.make<AttentionState>("attention", {
  preparing: ["turning", "delivering", "superseded", "failed"],
  turning: ["delivering", "done", "superseded", "failed"],
  delivering: ["proposed", "done", "superseded", "failed"],
  proposed: ["delivering", "superseded"],
  done: [],
  superseded: [],
  failed: []
})

const AttentionCause = Schema.Struct({
  kind: field(
    Schema.Literal("checks", "comments", "conflict", "turn"),
    "What it is about. `conflict`: with the base branch. `turn`: a turn that care did not begin, whose work `every_turn` delivers."
  ),
  check_ids: field(Schema.Array(CheckId), "The checks that had failed; empty for the other kinds."),
  comment_ids: field(Schema.Array(Schema.String), "The comments, by their ids on the forge; empty for the other kinds.")
}).annotations({
  identifier: "AttentionCause",
  description: "Something that a turn was needed for, or a turn whose work is delivered."
})
export type AttentionCause = typeof AttentionCause.Type

export const Attention = Schema.Struct({
  id: field(AttentionId, "The id of the attention."),
  merge_request_id: field(MergeRequestId, "The merge request that it is about."),
  head_sha: field(Schema.String, "The commit that its causes are of."),
  state: field(AttentionState, "Where it stands."),
  causes: field(Schema.Array(AttentionCause), "What it is about. There is at least one."),
  proposes: field(Schema.Boolean, "True when a person delivers what it makes."),
  base_sha: field(
    Schema.NullOr(Schema.String),
    "The commit of the base branch that is merged into the head; null until then, and without a conflict."
  ),
  message_id: field(Schema.NullOr(MessageId), "The message that began the turn; null until then."),
  turn_id: field(Schema.NullOr(TurnId), "The turn that works on it, or whose work is delivered; null until then."),
  changeset_id: field(Schema.NullOr(ChangesetId), "What the turn has made; null until then, and for nothing."),
  delivery_id: field(Schema.NullOr(DeliveryId), "The delivery of that; null until then."),
  commit: field(Schema.NullOr(Schema.String), "The commit that was pushed; null until then."),
  reply_url: field(
    Schema.NullOr(Schema.String),
    "The comment that tells of it; null for none, and where the forge does not tell."
  ),
  reason: field(Schema.NullOr(CareReason), "Why it has failed or was proposed; null otherwise."),
  created_at: field(Timestamp, "The time at which it began."),
  updated_at: field(Timestamp, "The time of its last change.")
}).annotations({
  identifier: "Attention",
  description: "One bounded turn of a session for what a merge request needs, or the delivery of another turn."
})
export type Attention = typeof Attention.Type
