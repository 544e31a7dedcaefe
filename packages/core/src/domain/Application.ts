import { Schema } from "effect"
import { ApplicationId, ChangesetId, SessionId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** `conflicted`: paths of the target stand in the way. */
export const ApplicationState = Schema.Literal("pending", "executing", "applied", "conflicted", "failed")
export type ApplicationState = typeof ApplicationState.Type

/** The moves of an application. */
export const applicationStates = /* @__PURE__ */ StateMachine.make<ApplicationState>("application", {
  pending: ["executing"],
  executing: ["applied", "conflicted", "failed"],
  applied: [],
  conflicted: [],
  failed: []
})

/** `three_way` merges into the files of the target. `exact` wants every touched path as the base of the changeset has it. */
export const ApplicationStrategy = Schema.Literal("three_way", "exact")
export type ApplicationStrategy = typeof ApplicationStrategy.Type

/** The reasons for which an application fails. */
export const ApplicationReason = Schema.Literal("turn_active", "executor_unavailable", "timeout", "internal_error")
export type ApplicationReason = typeof ApplicationReason.Type

/** One attempt to bring a sealed changeset into the workspace of a session. */
export const Application = Schema.Struct({
  id: ApplicationId,
  changeset_id: ChangesetId,
  /** The session that the changeset comes from. */
  session_id: SessionId,
  target_session_id: SessionId,
  strategy: ApplicationStrategy,
  /** A dry run only reports and writes nothing. */
  dry_run: Schema.Boolean,
  state: ApplicationState,
  /** The paths that stand in the way, sorted. When there are any, only the paths of `changed` may have been written. */
  conflicts: Schema.Array(Schema.String),
  /** The paths that were written, or would be without the dry run, sorted. Unless the state is `applied`, they may have been written. */
  changed: Schema.Array(Schema.String),
  reason: Schema.NullOr(ApplicationReason),
  reason_message: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  finished_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Application" })
export type Application = typeof Application.Type
