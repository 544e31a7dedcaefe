import { Schema } from "effect"
import { ApplicationReason, ApplicationState, ApplicationStrategy } from "./Application.js"
import { ChangesetOrigin, ChangesetState } from "./Changeset.js"
import { DelegationReason, DelegationState, ResultKind } from "./Delegation.js"
import { DeliveryReason, DeliveryState, DeliveryStep } from "./Delivery.js"
import {
  ApplicationId,
  ChangesetId,
  DelegationId,
  DeliveryId,
  EventId,
  JobId,
  LeaseId,
  MergeRequestId,
  MessageId,
  ResultId,
  SessionId,
  TurnId,
  WaitId,
  WorkspaceId
} from "./Ids.js"
import { Interaction } from "./Interaction.js"
import { MergeRequestReason, MergeRequestState } from "./MergeRequest.js"
import { Message, MessagePart } from "./Message.js"
import { Labels, LinkKind, SessionLifecycle, Usage } from "./Session.js"
import { Timestamp } from "./Timestamp.js"
import { Turn } from "./Turn.js"

const SessionPayload = Schema.Struct({
  lifecycle: SessionLifecycle,
  title: Schema.NullOr(Schema.String),
  labels: Labels,
  harness: Schema.Struct({ provider_id: Schema.String, model: Schema.NullOr(Schema.String) }),
  version: Schema.Int
})
/** A new session that goes on from another; both sessions hold the same event. */
const LinkPayload = Schema.Struct({
  from_session_id: SessionId,
  to_session_id: SessionId,
  link_kind: LinkKind,
  /** The start of the workspace of the new session; null for its repository as it is. */
  changeset_id: Schema.NullOr(ChangesetId)
})
const MessageRef = Schema.Struct({ message_id: MessageId })
const PartPayload = Schema.Struct({ message_id: MessageId, part: MessagePart })
const TurnPayload = Schema.Struct({ turn: Turn })
/** A turn can wait for several answers at once. It runs again when the last one is resolved. */
const ActionPayload = Schema.Struct({ turn: Turn, interaction: Interaction })
const ExecutorPayload = Schema.Struct({
  lease_id: LeaseId,
  backend: Schema.String,
  reason: Schema.NullOr(Schema.String)
})
const WorkspacePayload = Schema.Struct({
  base_commit: Schema.NullOr(Schema.String),
  path: Schema.NullOr(Schema.String)
})
const ChangesetPayload = Schema.Struct({
  state: ChangesetState,
  origin: ChangesetOrigin,
  subject_digest: Schema.NullOr(Schema.String),
  empty: Schema.Boolean,
  file_count: Schema.Int,
  additions: Schema.Int,
  deletions: Schema.Int,
  reason: Schema.NullOr(Schema.String)
})
const DeliveryPayload = Schema.Struct({
  state: DeliveryState,
  reason: Schema.NullOr(DeliveryReason),
  reason_message: Schema.NullOr(Schema.String),
  target_ref: Schema.String,
  commit: Schema.NullOr(Schema.String),
  step: Schema.NullOr(DeliveryStep)
})

const DelegationPayload = Schema.Struct({
  state: DelegationState,
  role: Schema.String,
  child_session_id: SessionId,
  reason: Schema.NullOr(DelegationReason),
  reason_message: Schema.NullOr(Schema.String)
})
/** A message that went to the child session; it is in the log of that session. */
const DelegationMessagePayload = Schema.Struct({ child_session_id: SessionId, message_id: MessageId })
const DelegationResultPayload = Schema.Struct({
  result_id: ResultId,
  kind: ResultKind,
  verdict: Schema.NullOr(Schema.String),
  changeset_id: Schema.NullOr(ChangesetId)
})
const WaitPayload = Schema.Struct({ wait_id: WaitId, message_id: MessageId })
/** The end of an application. The application itself lists every path. */
const ApplicationPayload = Schema.Struct({
  application_id: ApplicationId,
  /** The session that the changeset comes from. */
  source_session_id: SessionId,
  strategy: ApplicationStrategy,
  dry_run: Schema.Boolean,
  state: ApplicationState,
  changed_count: Schema.Int,
  conflict_count: Schema.Int,
  /** The first 100 paths that conflict. */
  conflicts: Schema.Array(Schema.String),
  reason: Schema.NullOr(ApplicationReason),
  reason_message: Schema.NullOr(Schema.String)
})
const MergeRequestPayload = Schema.Struct({
  merge_request_id: MergeRequestId,
  state: MergeRequestState,
  reason: Schema.NullOr(MergeRequestReason),
  reason_message: Schema.NullOr(Schema.String),
  base_branch: Schema.String,
  number: Schema.NullOr(Schema.Int),
  web_url: Schema.NullOr(Schema.String),
  head_sha: Schema.NullOr(Schema.String),
  adopted: Schema.Boolean
})

/** A tool call of the agent. It is sent again, whole, with each change of it. */
export const ToolPayload = Schema.Struct({
  tool_id: Schema.String,
  kind: Schema.String,
  title: Schema.String,
  input: Schema.Unknown,
  state: Schema.Literal("pending", "running", "done", "failed", "aborted"),
  output_text: Schema.NullOr(Schema.String),
  diffs: Schema.Array(
    Schema.Struct({
      path: Schema.String,
      old_text: Schema.NullOr(Schema.String),
      new_text: Schema.String
    })
  ),
  truncated: Schema.Boolean
})
export type ToolPayload = typeof ToolPayload.Type

/** Output of a harness that Reins does not understand. It is kept rather than dropped. */
const DiagnosticPayload = Schema.Struct({ kind: Schema.String, line: Schema.String })

const UsagePayload = Schema.Struct({
  usage: Usage,
  context_used: Schema.NullOr(Schema.Int),
  context_size: Schema.NullOr(Schema.Int)
})

/** Every event type with the schema of its payload. A new type is a line here. */
export const eventPayloads = {
  "session.created": SessionPayload,
  "session.updated": SessionPayload,
  "session.archived": SessionPayload,
  "session.unarchived": SessionPayload,
  "session.closed": SessionPayload,
  "session.linked": LinkPayload,
  "message.accepted": Schema.Struct({ message: Message }),
  "message.delivered": MessageRef,
  "message.discarded": MessageRef,
  "message.part_added": PartPayload,
  "message.part_updated": PartPayload,
  "message.completed": Schema.Struct({ message: Message }),
  "turn.queued": TurnPayload,
  "turn.preparing": TurnPayload,
  "turn.started": TurnPayload,
  "turn.action_required": ActionPayload,
  "turn.action_resolved": ActionPayload,
  "turn.cancel_requested": TurnPayload,
  "turn.succeeded": TurnPayload,
  "turn.failed": TurnPayload,
  "turn.cancelled": TurnPayload,
  "turn.interrupted": TurnPayload,
  "turn.acknowledged": TurnPayload,
  "tool.started": ToolPayload,
  "tool.updated": ToolPayload,
  "tool.completed": ToolPayload,
  "usage.observed": UsagePayload,
  "diagnostic.reported": DiagnosticPayload,
  "executor.allocating": ExecutorPayload,
  "executor.ready": ExecutorPayload,
  "executor.quiescing": ExecutorPayload,
  "executor.released": ExecutorPayload,
  "executor.lost": ExecutorPayload,
  "workspace.restored": WorkspacePayload,
  "workspace.changed": WorkspacePayload,
  "workspace.applied": ApplicationPayload,
  "workspace.apply_conflicted": ApplicationPayload,
  "workspace.apply_failed": ApplicationPayload,
  "changeset.capture_requested": ChangesetPayload,
  "changeset.ready": ChangesetPayload,
  "changeset.failed": ChangesetPayload,
  "delivery.requested": DeliveryPayload,
  "delivery.progressed": DeliveryPayload,
  "delivery.succeeded": DeliveryPayload,
  "delivery.failed": DeliveryPayload,
  "delivery.blocked": DeliveryPayload,
  "delivery.cancelled": DeliveryPayload,
  "merge_request.requested": MergeRequestPayload,
  "merge_request.opened": MergeRequestPayload,
  "merge_request.merge_requested": MergeRequestPayload,
  "merge_request.merge_failed": MergeRequestPayload,
  "merge_request.merged": MergeRequestPayload,
  "merge_request.closed": MergeRequestPayload,
  "merge_request.failed": MergeRequestPayload,
  "delegation.created": DelegationPayload,
  "delegation.active": DelegationPayload,
  "delegation.message_sent": DelegationMessagePayload,
  "delegation.result_published": DelegationResultPayload,
  "delegation.succeeded": DelegationPayload,
  "delegation.failed": DelegationPayload,
  "delegation.cancelled": DelegationPayload,
  "delegation.wait_satisfied": WaitPayload,
  "delegation.wait_expired": WaitPayload
} as const satisfies Record<string, Schema.Schema.AnyNoContext>

export type EventType = keyof typeof eventPayloads
export type EventPayload<T extends EventType> = Schema.Schema.Type<(typeof eventPayloads)[T]>

export const eventTypes = Object.keys(eventPayloads).filter((type): type is EventType => type in eventPayloads)

export const Actor = Schema.Struct({
  kind: Schema.Literal("account", "api_key", "harness", "system"),
  id: Schema.String
}).annotations({ identifier: "Actor" })
export type Actor = typeof Actor.Type

/** The resources that an event belongs to besides its session. Each is absent when the event belongs to none. */
export const EventSubjects = Schema.Struct({
  turn_id: Schema.optionalWith(TurnId, { exact: true }),
  job_id: Schema.optionalWith(JobId, { exact: true }),
  changeset_id: Schema.optionalWith(ChangesetId, { exact: true }),
  delivery_id: Schema.optionalWith(DeliveryId, { exact: true }),
  delegation_id: Schema.optionalWith(DelegationId, { exact: true })
})
export type EventSubjects = typeof EventSubjects.Type

/** One fact of a session. `seq` starts at 1 and has no gaps; the pair (session_id, seq) never changes its meaning. */
export const Event = Schema.Struct({
  id: EventId,
  seq: Schema.Int,
  type: Schema.String,
  schema_version: Schema.Int,
  session_id: SessionId,
  workspace_id: WorkspaceId,
  recorded_at: Timestamp,
  actor: Actor,
  ...EventSubjects.fields,
  payload: Schema.Record({ key: Schema.String, value: Schema.Unknown })
}).annotations({ identifier: "Event" })
export type Event = typeof Event.Type

/** An event as a typed union, for readers that switch over `type`. */
export type TypedEvent = {
  [T in EventType]: Omit<Event, "type" | "payload"> & { readonly type: T; readonly payload: EventPayload<T> }
}[EventType]

/** An event as a command gives it to the journal, which adds id, seq and time. */
export type NewEvent = {
  [T in EventType]: { readonly type: T; readonly payload: EventPayload<T>; readonly subjects?: EventSubjects }
}[EventType]
