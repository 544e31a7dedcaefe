import { Schema } from "effect"
import { ChangesetOrigin, ChangesetState } from "./Changeset.js"
import { DeliveryReason, DeliveryState, DeliveryStep } from "./Delivery.js"
import { ChangesetId, DeliveryId, EventId, JobId, LeaseId, MessageId, SessionId, TurnId, WorkspaceId } from "./Ids.js"
import { Message, MessagePart } from "./Message.js"
import { Labels, SessionLifecycle, Usage } from "./Session.js"
import { Timestamp } from "./Timestamp.js"
import { Turn } from "./Turn.js"

const SessionPayload = Schema.Struct({
  lifecycle: SessionLifecycle,
  title: Schema.NullOr(Schema.String),
  labels: Labels,
  harness: Schema.Struct({ provider_id: Schema.String, model: Schema.NullOr(Schema.String) }),
  version: Schema.Int
})
const MessageRef = Schema.Struct({ message_id: MessageId })
const PartPayload = Schema.Struct({ message_id: MessageId, part: MessagePart })
const TurnPayload = Schema.Struct({ turn: Turn })
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

/** A tool call of the agent: sent again, whole, with each change of it. */
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

/** Output of a harness that nothing here understands, kept rather than dropped. */
const DiagnosticPayload = Schema.Struct({ kind: Schema.String, line: Schema.String })

const UsagePayload = Schema.Struct({
  usage: Usage,
  context_used: Schema.NullOr(Schema.Int),
  context_size: Schema.NullOr(Schema.Int)
})

/** Every event type with the shape of its payload. A new type is a line here. */
export const eventPayloads = {
  "session.created": SessionPayload,
  "session.updated": SessionPayload,
  "session.archived": SessionPayload,
  "session.unarchived": SessionPayload,
  "session.closed": SessionPayload,
  "message.accepted": Schema.Struct({ message: Message }),
  "message.delivered": MessageRef,
  "message.discarded": MessageRef,
  "message.part_added": PartPayload,
  "message.part_updated": PartPayload,
  "message.completed": Schema.Struct({ message: Message }),
  "turn.queued": TurnPayload,
  "turn.preparing": TurnPayload,
  "turn.started": TurnPayload,
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
  "changeset.capture_requested": ChangesetPayload,
  "changeset.ready": ChangesetPayload,
  "changeset.failed": ChangesetPayload,
  "delivery.requested": DeliveryPayload,
  "delivery.progressed": DeliveryPayload,
  "delivery.succeeded": DeliveryPayload,
  "delivery.failed": DeliveryPayload,
  "delivery.blocked": DeliveryPayload,
  "delivery.cancelled": DeliveryPayload
} as const satisfies Record<string, Schema.Schema.AnyNoContext>

export type EventType = keyof typeof eventPayloads
export type EventPayload<T extends EventType> = Schema.Schema.Type<(typeof eventPayloads)[T]>

export const eventTypes = Object.keys(eventPayloads).filter((type): type is EventType => type in eventPayloads)

export const Actor = Schema.Struct({
  kind: Schema.Literal("account", "api_key", "harness", "system"),
  id: Schema.String
}).annotations({ identifier: "Actor" })
export type Actor = typeof Actor.Type

/** What an event belongs to besides its session. Absent when it belongs to none. */
export const EventSubjects = Schema.Struct({
  turn_id: Schema.optionalWith(TurnId, { exact: true }),
  job_id: Schema.optionalWith(JobId, { exact: true }),
  changeset_id: Schema.optionalWith(ChangesetId, { exact: true }),
  delivery_id: Schema.optionalWith(DeliveryId, { exact: true })
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

/** What a command hands to the journal; the journal adds id, seq and time. */
export type NewEvent = {
  [T in EventType]: { readonly type: T; readonly payload: EventPayload<T>; readonly subjects?: EventSubjects }
}[EventType]
