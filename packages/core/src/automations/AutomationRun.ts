import { field } from "@reins/base/domain/Field"
import {
  AutomationId,
  AutomationRunId,
  ChangesetId,
  DeliveryId,
  MergeRequestId,
  SessionId,
  TurnId,
  WorkspaceId
} from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { Usage } from "../sessions/rows/Session.js"

export const AutomationRunKind = Schema.Literal("schedule", "once", "hook", "event", "hand", "retry").annotations({
  description: "`hand`: somebody started it. `retry`: somebody had a run made again."
})
export type AutomationRunKind = typeof AutomationRunKind.Type

export const AutomationRunState = Schema.Literal(
  "waiting",
  "running",
  "succeeded",
  "failed",
  "cancelled",
  "skipped"
).annotations({
  description:
    "`waiting`: its turn is queued, or the run before has not ended. `skipped`: it was due and did not begin. The turn of a run decides its end."
})
export type AutomationRunState = typeof AutomationRunState.Type

/** The moves of a run. A run that is skipped is made so. */
export const automationRunStates = /* @__PURE__ */ StateMachine.make<AutomationRunState>("automation run", {
  waiting: ["running", "succeeded", "failed", "cancelled", "skipped"],
  running: ["succeeded", "failed", "cancelled"],
  succeeded: [],
  failed: [],
  cancelled: [],
  skipped: []
})

/** The reasons for which a run that was due does not begin. */
export type SkipReason =
  | "overlap"
  | "coalesced"
  | "queue_full"
  | "paused"
  | "missed"
  | "budget"
  | "loop"
  | "owner_lost_access"

export const AutomationRun = Schema.Struct({
  id: field(AutomationRunId, "The id of the run."),
  automation_id: field(AutomationId, "The automation that was due."),
  workspace_id: field(WorkspaceId, "The workspace that it belongs to."),
  kind: field(AutomationRunKind, "What made it due."),
  state: field(AutomationRunState, "Where it stands."),
  reason: field(
    Schema.NullOr(Schema.String),
    "Why it was skipped, failed or cancelled: `overlap`, `coalesced`, `queue_full`, `paused`, `missed`, `budget`, `loop`, `owner_lost_access` or `session_gone`; `timeout` after `max_minutes`; the reason of its turn; or the code that refused its session or message. Null otherwise."
  ),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  due_at: field(Timestamp, "The time at which it was due."),
  late_seconds: field(Schema.Int, "The seconds after that at which it was looked at, its jitter among them."),
  missed: field(
    Schema.NullOr(Schema.Int),
    "The number of times that nobody was there for, in the one run that tells of them; at least so many when it is 1,000. Null for other runs."
  ),
  retry_of_run_id: field(Schema.NullOr(AutomationRunId), "The run that this one makes again; null for none."),
  session_id: field(Schema.NullOr(SessionId), "The session that it works in; null without one."),
  turn_id: field(Schema.NullOr(TurnId), "Its turn; null until it has one."),
  created_at: field(Timestamp, "The time at which it was made."),
  started_at: field(Schema.NullOr(Timestamp), "The time at which its turn was queued; null before."),
  finished_at: field(Schema.NullOr(Timestamp), "The time of its end; null while it goes on.")
}).annotations({ identifier: "AutomationRun", description: "One time that an automation was due." })
export type AutomationRun = typeof AutomationRun.Type

export const FinishedAutomationRun = Schema.Struct({
  ...AutomationRun.fields,
  usage: field(Schema.NullOr(Usage), "What its turn has used; null without a turn."),
  changeset_id: field(
    Schema.NullOr(ChangesetId),
    "The sealed changeset of its turn; null while there is none, and when nothing has changed."
  ),
  delivery_id: field(Schema.NullOr(DeliveryId), "The newest delivery of that changeset; null for none."),
  merge_request_id: field(Schema.NullOr(MergeRequestId), "The newest merge request of that delivery; null for none."),
  undelivered_reason: field(
    Schema.NullOr(Schema.String),
    "The code that refused the delivery or the merge request that its automation asked for, or `owner_lost_access`; null for none."
  ),
  undelivered_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  )
}).annotations({
  identifier: "AutomationRunDetails",
  description: "A run with what it has used and what came of it."
})
export type FinishedAutomationRun = typeof FinishedAutomationRun.Type
