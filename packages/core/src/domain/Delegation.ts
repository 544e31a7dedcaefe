import { Schema } from "effect"
import { ChangesetId, DelegationId, ResultId, SessionId, WaitId, WorkspaceId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** `waiting_result`: the turns of the child have ended, and the delegation waits for somebody to submit its result. */
export const DelegationState = Schema.Literal("pending", "active", "waiting_result", "succeeded", "failed", "cancelled")
export type DelegationState = typeof DelegationState.Type

/** The moves of a delegation. */
export const delegationStates = /* @__PURE__ */ StateMachine.make<DelegationState>("delegation", {
  pending: ["active", "failed", "cancelled"],
  active: ["waiting_result", "failed", "cancelled"],
  waiting_result: ["succeeded", "failed", "cancelled"],
  succeeded: [],
  failed: [],
  cancelled: []
})

/** The reasons for which a delegation fails or is cancelled. */
export const DelegationReason = Schema.Literal(
  "turn_failed",
  "turn_interrupted",
  "turn_cancelled",
  "deadline_exceeded",
  "user_cancelled",
  "session_closed"
)
export type DelegationReason = typeof DelegationReason.Type

/** A JSON Schema of the draft 2020-12. */
export const ResultSchema = Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
  identifier: "ResultSchema"
})
export type ResultSchema = typeof ResultSchema.Type

/** A part of the work of a session that another session does. */
export const Delegation = Schema.Struct({
  id: DelegationId,
  workspace_id: WorkspaceId,
  /** The session that delegated. */
  session_id: SessionId,
  /** The session that works. */
  child_session_id: SessionId,
  /** 1 when the delegating session is no child itself, and one more for each level below. */
  depth: Schema.Int,
  role: Schema.String,
  instructions: Schema.String,
  /** The changeset that the workspace of the child started with. */
  changeset_id: Schema.NullOr(ChangesetId),
  /** The schema that the `value` of the result must satisfy. */
  result_schema: Schema.NullOr(ResultSchema),
  state: DelegationState,
  reason: Schema.NullOr(DelegationReason),
  /** A sentence for people: what happened and what to do next. */
  reason_message: Schema.NullOr(Schema.String),
  result_id: Schema.NullOr(ResultId),
  deadline_at: Schema.NullOr(Timestamp),
  version: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp,
  finished_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Delegation" })
export type Delegation = typeof Delegation.Type

/** The kinds of work that a result reports. */
export const ResultKind = Schema.Literal("review", "test", "research", "integration", "generic")
export type ResultKind = typeof ResultKind.Type

/** The kinds of result that may carry a verdict, because they judge something. */
export const judgingKinds: ReadonlySet<ResultKind> = new Set<ResultKind>(["review", "test", "integration"])

/** The result of a delegation. It is written once. */
export const Result = Schema.Struct({
  id: ResultId,
  delegation_id: DelegationId,
  kind: ResultKind,
  verdict: Schema.NullOr(Schema.String),
  summary: Schema.String,
  value: Schema.Unknown,
  /** The changes that belong to the result. */
  changeset_id: Schema.NullOr(ChangesetId),
  author: Schema.Struct({ kind: Schema.String, id: Schema.String }),
  created_at: Timestamp
}).annotations({ identifier: "Result" })
export type Result = typeof Result.Type

/** The states of a wait: see `Wait`. */
export const WaitState = Schema.Literal("pending", "satisfied", "expired", "cancelled")
export type WaitState = typeof WaitState.Type

/** The moves of a wait. */
export const waitStates = /* @__PURE__ */ StateMachine.make<WaitState>("wait", {
  pending: ["satisfied", "expired", "cancelled"],
  satisfied: [],
  expired: [],
  cancelled: []
})

/** `message` posts a message to the delegating session once the delegation has ended. `none` tells the caller only. */
export const Wake = Schema.Literal("none", "message")
export type Wake = typeof Wake.Type

/**
 * A wait for the end of a delegation. `pending`: the delegation goes on. `satisfied`: it has succeeded or failed. `expired`: its deadline has
 * passed. `cancelled`: it was cancelled. Only a wait with `wake: "message"` is kept after the call that made it.
 */
export const Wait = Schema.Struct({
  id: WaitId,
  delegation_id: DelegationId,
  state: WaitState,
  wake: Wake,
  created_at: Timestamp
}).annotations({ identifier: "Wait" })
export type Wait = typeof Wait.Type

/** The state of a wait for a delegation in this state. */
export const waitStateOf = ({ reason, state }: Pick<Delegation, "state" | "reason">): WaitState => {
  if (!delegationStates.isTerminal(state)) return "pending"
  if (state === "cancelled") return "cancelled"
  return reason === "deadline_exceeded" ? "expired" : "satisfied"
}
