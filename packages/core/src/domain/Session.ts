import { Schema } from "effect"
import {
  ConnectionId,
  DelegationId,
  LeaseId,
  ProjectId,
  ProjectVersionId,
  SessionId,
  TurnId,
  WorkspaceId
} from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** An `archived` session takes no work until it is opened again; a `closed` one never does. */
export const SessionLifecycle = Schema.Literal("open", "archived", "closed")
export type SessionLifecycle = typeof SessionLifecycle.Type

/** The moves of the lifecycle, which `SessionStore` makes. */
export const sessionStates = /* @__PURE__ */ StateMachine.make<SessionLifecycle>("session", {
  open: ["archived", "closed"],
  archived: ["open", "closed"],
  closed: []
})

/** It follows from the turns: with `attention` an interrupted turn waits for its acknowledgement, with `requires_action` an agent waits for an answer. */
export const SessionActivity = Schema.Literal("idle", "queued", "running", "requires_action", "attention")
export type SessionActivity = typeof SessionActivity.Type

/** The state of the newest lease of an executor. A `quiescing` lease is being released; a `lost` one ended without a release. */
export const LeaseState = Schema.Literal("none", "allocating", "ready", "quiescing", "released", "lost")
export type LeaseState = typeof LeaseState.Type

/** The moves of one lease, which `Leases` makes. After its end a session begins the next lease from `none`. */
export const leaseStates = /* @__PURE__ */ StateMachine.make<LeaseState>("executor lease", {
  none: ["allocating"],
  allocating: ["ready", "lost"],
  ready: ["quiescing", "lost"],
  quiescing: ["released", "lost"],
  released: [],
  lost: []
})

/** True for a lease that has begun and not ended. */
export const isLeaseHeld = (state: LeaseState): boolean => state !== "none" && !leaseStates.isTerminal(state)

/** The state of the files that the agent of a session works in. */
export const WorkspaceState = Schema.Literal("none", "preparing", "ready", "removed")
export type WorkspaceState = typeof WorkspaceState.Type

/** The moves of a workspace, which `SessionStore` makes. A workspace that a backup did not hold is `none` again after the restore. */
export const workspaceStates = /* @__PURE__ */ StateMachine.make<WorkspaceState>("workspace", {
  none: ["preparing", "removed"],
  preparing: ["ready", "none", "removed"],
  ready: ["none", "removed"],
  removed: []
})

/** Tokens and cost as the harness reported them. Those of a session are the sum over its turns. */
export const Usage = Schema.Struct({
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  cached_tokens: Schema.Int,
  reasoning_tokens: Schema.Int,
  cost_usd: Schema.NullOr(Schema.Number)
}).annotations({ identifier: "Usage" })
export type Usage = typeof Usage.Type

/** The usage before the first report. */
export const noUsage: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_usd: null
}

/** The sum. Its cost is null only when both costs are. */
export const addUsage = (a: Usage, b: Usage): Usage => ({
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  cached_tokens: a.cached_tokens + b.cached_tokens,
  reasoning_tokens: a.reasoning_tokens + b.reasoning_tokens,
  cost_usd: a.cost_usd === null && b.cost_usd === null ? null : (a.cost_usd ?? 0) + (b.cost_usd ?? 0)
})

/** Names and values that clients give a session; at most 50. */
export const Labels = Schema.Record({ key: Schema.String, value: Schema.String }).pipe(
  Schema.filter((labels) => Object.keys(labels).length <= 50, { message: () => "Input should have at most 50 labels" })
)

/** The reason for which a session goes on from another one. */
export const LinkKind = Schema.Literal("harness_switch")
export type LinkKind = typeof LinkKind.Type

/** The commands on a session that its caller can give. */
export const SessionAction = Schema.Literal(
  "send_message",
  "activate_executor",
  "archive",
  "capture",
  "close",
  "delegate",
  "release_executor",
  "switch_harness",
  "unarchive",
  "update",
  "upload_file"
)
export type SessionAction = typeof SessionAction.Type

/** A session as clients see it. */
export const Session = Schema.Struct({
  id: SessionId,
  workspace_id: WorkspaceId,
  project_id: Schema.NullOr(ProjectId),
  project_version_id: Schema.NullOr(ProjectVersionId),
  title: Schema.NullOr(Schema.String),
  labels: Labels,
  harness: Schema.Struct({
    provider_id: Schema.String,
    model: Schema.NullOr(Schema.String),
    connection_id: Schema.NullOr(ConnectionId)
  }),
  executor: Schema.Struct({ backend: Schema.String, state: LeaseState, lease_id: Schema.NullOr(LeaseId) }),
  base: Schema.Struct({
    repository: Schema.NullOr(Schema.String),
    ref: Schema.NullOr(Schema.String),
    commit: Schema.NullOr(Schema.String)
  }),
  workspace: Schema.Struct({ state: WorkspaceState }),
  auto_capture: Schema.Boolean,
  lifecycle: SessionLifecycle,
  activity: SessionActivity,
  active_turn_id: Schema.NullOr(TurnId),
  /** The session that this one goes on from; null for a session of its own. */
  linked_from_session_id: Schema.NullOr(SessionId),
  link_kind: Schema.NullOr(LinkKind),
  /** The delegation that a child session works for; null for every other session. */
  parent_delegation_id: Schema.NullOr(DelegationId),
  usage: Usage,
  /** The `seq` of the newest event. */
  event_watermark: Schema.Int,
  version: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp,
  archived_at: Schema.NullOr(Timestamp),
  closed_at: Schema.NullOr(Timestamp),
  actions: Schema.Array(SessionAction).annotations({
    description:
      "What the caller can do with the session now: its state, the role and the scope of the credentials allow it. `send_message` is a message " +
      "that starts a turn (a note needs an open session only), `release_executor` is a release without `force`; the others are named as their " +
      "endpoints. Empty for credentials that may only read. A connection that was revoked meanwhile, or a limit of delegations, can still refuse."
  })
}).annotations({ identifier: "Session" })
export type Session = typeof Session.Type
