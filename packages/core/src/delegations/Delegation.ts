import { field } from "@reins/base/domain/Field"
import { ChangesetId, DelegationId, ResultId, SessionId, WaitId, WorkspaceId } from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { ResultSchema } from "../sessions/rows/TurnResult.js"

export const DelegationState = Schema.Literal(
  "pending",
  "active",
  "waiting_result",
  "succeeded",
  "failed",
  "cancelled"
).annotations({
  description:
    "`waiting_result`: the turns of the child have ended, and the delegation waits for somebody to submit its result."
})
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

export const DelegationReason = Schema.Literal(
  "turn_failed",
  "turn_interrupted",
  "turn_cancelled",
  "deadline_exceeded",
  "user_cancelled",
  "session_closed"
).annotations({ description: "The reasons for which a delegation fails or is cancelled." })
export type DelegationReason = typeof DelegationReason.Type

export const Delegation = Schema.Struct({
  id: field(DelegationId, "The id of the delegation."),
  workspace_id: field(WorkspaceId, "The workspace of both sessions."),
  session_id: field(SessionId, "The session that delegated."),
  child_session_id: field(SessionId, "The session that works."),
  depth: field(Schema.Int, "1 when the delegating session is no child itself, and one more for each level below."),
  role: field(Schema.String, "The part that the child plays, as in `reviewer`. It is the title of the child session."),
  instructions: field(Schema.String, "The first message of the child session, word for word."),
  changeset_id: field(
    Schema.NullOr(ChangesetId),
    "The changeset that the workspace of the child started with; null when it started from the base."
  ),
  result_schema: field(
    Schema.NullOr(ResultSchema),
    "The schema that the `value` of the result must satisfy; null for any value."
  ),
  state: field(DelegationState, "Where the delegation stands."),
  reason: field(Schema.NullOr(DelegationReason), "Why it failed or was cancelled; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  result_id: field(Schema.NullOr(ResultId), "The id of the result; null until it is there."),
  deadline_at: field(
    Schema.NullOr(Timestamp),
    "The time at which the delegation fails when it has not ended; null for one of a release that had no default."
  ),
  version: field(Schema.Int, "Grows by one with each change."),
  created_at: field(Timestamp, "The time at which the delegation was made."),
  updated_at: field(Timestamp, "The time of its last change."),
  finished_at: field(Schema.NullOr(Timestamp), "The time of its end; null while it goes on.")
}).annotations({ identifier: "Delegation", description: "A part of the work of a session that another session does." })
export type Delegation = typeof Delegation.Type

export const ResultKind = Schema.Literal("review", "test", "research", "integration", "generic").annotations({
  description: "The kind of work that a result reports."
})
export type ResultKind = typeof ResultKind.Type

/** The kinds of result that may carry a verdict, because they judge something. */
export const judgingKinds: ReadonlySet<ResultKind> = new Set<ResultKind>(["review", "test", "integration"])

export const Result = Schema.Struct({
  id: field(ResultId, "The id of the result."),
  delegation_id: field(DelegationId, "The delegation that it ends."),
  kind: field(ResultKind, "What was done."),
  verdict: field(
    Schema.NullOr(Schema.String),
    "The judgement of a `review`, a `test` or an `integration`, as in `approved`; null for none."
  ),
  summary: field(Schema.String, "What came out, in words."),
  value: field(
    Schema.Unknown,
    "What came out, for programs. It satisfies the `result_schema` of the delegation, when there is one; null for none."
  ),
  changeset_id: field(Schema.NullOr(ChangesetId), "The changes that belong to the result; null for none."),
  author: field(
    Schema.Struct({
      kind: field(
        Schema.String,
        "`account` or `api_key` for a caller, `harness` for an agent, `system` for the service."
      ),
      id: field(Schema.String, "The id of the author, of the kind that `kind` says.")
    }),
    "Who gave the result."
  ),
  created_at: field(Timestamp, "The time at which the result was given.")
}).annotations({ identifier: "Result", description: "The result of a delegation. It is written once." })
export type Result = typeof Result.Type

export const WaitState = Schema.Literal("pending", "satisfied", "expired", "cancelled").annotations({
  description:
    "`pending`: the delegation goes on. `satisfied`: it has succeeded or failed. `expired`: its deadline has passed. `cancelled`: it was cancelled."
})
export type WaitState = typeof WaitState.Type

/** The moves of a wait. */
export const waitStates = /* @__PURE__ */ StateMachine.make<WaitState>("wait", {
  pending: ["satisfied", "expired", "cancelled"],
  satisfied: [],
  expired: [],
  cancelled: []
})

export const Wake = Schema.Literal("none", "message").annotations({
  description:
    "`message` posts a message to the delegating session once the delegation has ended. `none` tells the caller only."
})
export type Wake = typeof Wake.Type

export const Wait = Schema.Struct({
  id: field(WaitId, "The id of the wait."),
  delegation_id: field(DelegationId, "The delegation that is waited for."),
  state: field(WaitState, "What came of the wait."),
  wake: field(Wake, "Who is told of the end."),
  created_at: field(Timestamp, "The time at which the wait began.")
}).annotations({
  identifier: "Wait",
  description:
    'A wait for the end of a delegation. Only a wait with `wake: "message"` is kept after the call that made it.'
})
export type Wait = typeof Wait.Type

/** The state of a wait for a delegation in this state. */
export const waitStateOf = ({ reason, state }: Pick<Delegation, "state" | "reason">): WaitState => {
  if (!delegationStates.isTerminal(state)) return "pending"
  if (state === "cancelled") return "cancelled"
  return reason === "deadline_exceeded" ? "expired" : "satisfied"
}
