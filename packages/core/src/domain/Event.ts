import { Schema } from "effect"
import { ApplicationReason, ApplicationState, ApplicationStrategy } from "../changes/Application.js"
import { ChangesetOrigin, ChangesetState } from "../changes/Changeset.js"
import { DeliveryReason, DeliveryState, DeliveryStep } from "../changes/Delivery.js"
import { MergeRequestReason, MergeRequestState } from "../changes/MergeRequest.js"
import { DelegationReason, DelegationState, ResultKind } from "../delegations/Delegation.js"
import { AgentCommands, AgentOptions, AgentTitle, Compaction, Notice, Plan } from "../harness/AgentReport.js"
import { Interaction } from "../sessions/Interaction.js"
import { Message, MessagePart } from "../sessions/Message.js"
import { Labels, LinkKind, SessionLifecycle, Usage } from "../sessions/Session.js"
import { ToolPayload, ToolUpdate } from "../sessions/ToolCall.js"
import { Turn } from "../sessions/Turn.js"
import { SetupPayload, SetupStepPayload } from "../worktrees/SetupReport.js"
import { field } from "./Field.js"
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
  SnapshotId,
  TurnId,
  WaitId,
  WorkspaceId
} from "./Ids.js"
import { RepositoryFilter } from "./RepositoryFilter.js"
import { Timestamp } from "./Timestamp.js"

const SessionPayload = Schema.Struct({
  lifecycle: field(SessionLifecycle, "The state of the session."),
  title: field(Schema.NullOr(Schema.String), "Its title; null for none."),
  labels: field(Labels, "The names and values that clients gave it."),
  harness: field(
    Schema.Struct({
      provider_id: field(Schema.String, "The provider, as `GET /api/harnesses` lists it."),
      model: field(Schema.NullOr(Schema.String), "The model; null for the preference of the connection.")
    }),
    "The provider that runs it."
  ),
  version: field(Schema.Int, "The version of the session after the change.")
}).annotations({ identifier: "SessionPayload", description: "The session after what happened to it." })
const LinkPayload = Schema.Struct({
  from_session_id: field(SessionId, "The session that was left."),
  to_session_id: field(SessionId, "The session that goes on."),
  link_kind: field(LinkKind, "Why there is another session."),
  changeset_id: field(
    Schema.NullOr(ChangesetId),
    "The start of the workspace of the new session; null for its repository as it is."
  )
}).annotations({
  identifier: "LinkPayload",
  description: "A new session that goes on from another; both sessions hold the same event."
})
const MessagePayload = Schema.Struct({ message: field(Message, "All of the message, with its content.") }).annotations({
  identifier: "MessagePayload",
  description: "A message, whole."
})
const MessageRef = Schema.Struct({ message_id: field(MessageId, "The message that went its way.") }).annotations({
  identifier: "MessageRefPayload",
  description: "A message that went its way. The event `message.accepted` holds all of it."
})
const PartPayload = Schema.Struct({
  message_id: field(MessageId, "The message that the agent is writing. It is whole with `message.completed`."),
  part: field(MessagePart, "The piece, new or changed.")
}).annotations({ identifier: "PartPayload", description: "A piece of what the agent says." })
const TurnPayload = Schema.Struct({ turn: field(Turn, "The whole turn.") }).annotations({
  identifier: "TurnPayload",
  description: "The turn after what happened to it."
})
const ActionPayload = Schema.Struct({
  turn: field(Turn, "The whole turn."),
  interaction: field(Interaction, "The question, and its answer once it is resolved.")
}).annotations({
  identifier: "ActionPayload",
  description:
    "A turn and what its agent asks. A turn can wait for several answers at once. It runs again when the last one is resolved."
})
const ExecutorPayload = Schema.Struct({
  lease_id: field(LeaseId, "The lease that began, moved or ended."),
  backend: field(Schema.String, "The executor backend."),
  reason: field(
    Schema.NullOr(Schema.String),
    "Why it was released or lost, in a word or a sentence; null when there is nothing to tell."
  )
}).annotations({ identifier: "ExecutorPayload", description: "A lease of the executor that began, moved or ended." })
const WorkspacePayload = Schema.Struct({
  base_commit: field(
    Schema.NullOr(Schema.String),
    "The commit that the workspace started from; null for an empty start."
  ),
  path: field(Schema.NullOr(Schema.String), "The file that was written; null for the whole workspace.")
}).annotations({ identifier: "WorkspacePayload", description: "Files of the workspace that were made or written." })
const RestoredPayload = Schema.Struct({
  ...WorkspacePayload.fields,
  filters: field(
    Schema.NullOr(Schema.Array(RepositoryFilter)),
    "The filters that the attributes of the base commit name, those of most files first, at most 20. Null when nobody has looked, as after a move to another machine."
  ),
  snapshot_id: field(
    Schema.NullOr(SnapshotId),
    "The snapshot that the workspace was made from, on another machine or after a loss; null when it was made from its repository, or empty."
  ),
  lost_turn: field(
    Schema.NullOr(TurnId),
    "The newest turn whose work on files was lost with its machine; null when nothing was."
  )
}).annotations({ identifier: "RestoredPayload", description: "A workspace that was made." })
const ChangesetPayload = Schema.Struct({
  state: field(ChangesetState, "Where the capture stands."),
  origin: field(ChangesetOrigin, "The way in which it was captured."),
  subject_digest: field(Schema.NullOr(Schema.String), "The digest of the sealed change; null until `ready`."),
  empty: field(Schema.Boolean, "True when nothing differs from the base commit."),
  file_count: field(Schema.Int, "The number of files that differ."),
  additions: field(Schema.Int, "The number of added lines."),
  deletions: field(Schema.Int, "The number of deleted lines."),
  reason: field(Schema.NullOr(Schema.String), "Why the capture failed, as a sentence; null otherwise.")
}).annotations({
  identifier: "ChangesetPayload",
  description: "The capture of a changeset, without its list of files."
})
const DeliveryPayload = Schema.Struct({
  state: field(DeliveryState, "Where the delivery stands."),
  reason: field(Schema.NullOr(DeliveryReason), "Why it failed or is blocked; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  target_ref: field(Schema.String, "The branch, without `refs/heads/`."),
  commit: field(Schema.NullOr(Schema.String), "The commit that was made for the changeset; null until then."),
  step: field(Schema.NullOr(DeliveryStep), "The step that was made; null when the event is no step.")
}).annotations({ identifier: "DeliveryPayload", description: "A delivery after what happened to it." })

const DelegationPayload = Schema.Struct({
  state: field(DelegationState, "Where the delegation stands."),
  role: field(Schema.String, "The part that the child plays."),
  child_session_id: field(SessionId, "The session that works."),
  reason: field(Schema.NullOr(DelegationReason), "Why it failed or was cancelled; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  )
}).annotations({ identifier: "DelegationPayload", description: "A delegation after what happened to it." })
const DelegationMessagePayload = Schema.Struct({
  child_session_id: field(SessionId, "The session that works."),
  message_id: field(MessageId, "The message, in the child session.")
}).annotations({
  identifier: "DelegationMessagePayload",
  description: "A message that went to the child session; it is in the log of that session."
})
const DelegationResultPayload = Schema.Struct({
  result_id: field(ResultId, "The result that was given."),
  kind: field(ResultKind, "The kind of work that the result reports."),
  verdict: field(Schema.NullOr(Schema.String), "The judgement; null for none."),
  changeset_id: field(Schema.NullOr(ChangesetId), "The changes that belong to the result; null for none.")
}).annotations({
  identifier: "DelegationResultPayload",
  description: "The result of a delegation, without its words and its value."
})
const WaitPayload = Schema.Struct({
  wait_id: field(WaitId, "The wait that is over."),
  message_id: field(MessageId, "The message that was posted to this session.")
}).annotations({ identifier: "WaitPayload", description: "The end of a wait that was to wake the session." })
const ApplicationPayload = Schema.Struct({
  application_id: field(ApplicationId, "The application that ended."),
  source_session_id: field(SessionId, "The session that the changeset comes from."),
  strategy: field(ApplicationStrategy, "How the changes were brought in."),
  dry_run: field(Schema.Boolean, "True when nothing was written."),
  state: field(ApplicationState, "How the application ended."),
  changed_count: field(Schema.Int, "The number of paths that were written, or would be."),
  conflict_count: field(Schema.Int, "The number of paths that conflict."),
  conflicts: field(Schema.Array(Schema.String), "The first 100 paths that conflict."),
  reason: field(Schema.NullOr(ApplicationReason), "Why the application failed; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  )
}).annotations({
  identifier: "ApplicationPayload",
  description: "The end of an application. The application itself lists every path."
})
const MergeRequestPayload = Schema.Struct({
  merge_request_id: field(MergeRequestId, "The merge request that it happened to."),
  state: field(MergeRequestState, "Where it stands."),
  reason: field(Schema.NullOr(MergeRequestReason), "Why the last command did not take effect; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  base_branch: field(Schema.String, "The branch that it is to be merged into."),
  number: field(Schema.NullOr(Schema.Int), "The number that the forge shows; null until it is open."),
  web_url: field(Schema.NullOr(Schema.String), "Its page on the forge; null until it is open."),
  head_sha: field(Schema.NullOr(Schema.String), "The commit that it would merge, as last observed; null until then."),
  adopted: field(Schema.Boolean, "True when somebody else had opened it on the forge.")
}).annotations({ identifier: "MergeRequestPayload", description: "A merge request after what happened to it." })

const DiagnosticPayload = Schema.Struct({
  kind: field(Schema.String, "The kind of the diagnostic, as in `unparsed`."),
  line: field(Schema.String, "The output.")
}).annotations({
  identifier: "DiagnosticPayload",
  description: "Output of a harness that Reins does not understand. It is kept rather than dropped."
})

const UsagePayload = Schema.Struct({
  usage: field(Usage, "Tokens and cost of the turn so far."),
  context_used: field(Schema.NullOr(Schema.Int), "The tokens in the context of the agent; null when it does not tell."),
  context_size: field(
    Schema.NullOr(Schema.Int),
    "The most tokens that the context holds; null when the agent does not tell."
  )
}).annotations({ identifier: "UsagePayload", description: "What the turn has used so far." })

/** Every event type with the schema of its payload. A new type is a line here. */
export const eventPayloads = {
  "session.created": SessionPayload,
  "session.updated": SessionPayload,
  "session.archived": SessionPayload,
  "session.unarchived": SessionPayload,
  "session.closed": SessionPayload,
  "session.linked": LinkPayload,
  "message.accepted": MessagePayload,
  "message.delivered": MessageRef,
  "message.discarded": MessageRef,
  "message.part_added": PartPayload,
  "message.part_updated": PartPayload,
  "message.completed": MessagePayload,
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
  "tool.updated": ToolUpdate,
  "tool.completed": ToolPayload,
  "plan.updated": Plan,
  "agent.notice_given": Notice,
  "agent.compaction_updated": Compaction,
  "agent.commands_listed": AgentCommands,
  "agent.options_listed": AgentOptions,
  "agent.titled": AgentTitle,
  "usage.observed": UsagePayload,
  "diagnostic.reported": DiagnosticPayload,
  "executor.allocating": ExecutorPayload,
  "executor.ready": ExecutorPayload,
  "executor.quiescing": ExecutorPayload,
  "executor.released": ExecutorPayload,
  "executor.lost": ExecutorPayload,
  "setup.started": SetupPayload,
  "setup.progressed": SetupStepPayload,
  "setup.succeeded": SetupPayload,
  "setup.failed": SetupPayload,
  "workspace.restored": RestoredPayload,
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

/** The resources whose events are in the stream of a workspace. */
const listed: ReadonlySet<string> = new Set([
  "session",
  "turn",
  "usage",
  "changeset",
  "delivery",
  "merge_request",
  "delegation"
])

/** The types of the stream of a workspace: what a list of sessions shows, and none of the words and tools of agents. */
export const workspaceEventTypes = eventTypes.filter((type) => listed.has(type.split(".")[0] ?? ""))

export const Actor = Schema.Struct({
  kind: field(
    Schema.Literal("account", "api_key", "harness", "system"),
    "`account` for a person who is logged in, `api_key` for a program, `harness` for the agent, `system` for the service itself."
  ),
  id: field(
    Schema.String,
    "The id of the account or key, the provider of the harness, or the name of the part of the service."
  )
}).annotations({ identifier: "Actor", description: "Who did it." })
export type Actor = typeof Actor.Type

/** The resources that an event belongs to besides its session. Each is absent when the event belongs to none. */
export const EventSubjects = Schema.Struct({
  turn_id: field(
    Schema.optionalWith(TurnId, { exact: true }),
    "The turn that the event belongs to. Absent when it belongs to none."
  ),
  job_id: field(
    Schema.optionalWith(JobId, { exact: true }),
    "The job that the event belongs to. Absent when it belongs to none."
  ),
  changeset_id: field(
    Schema.optionalWith(ChangesetId, { exact: true }),
    "The changeset that the event belongs to. Absent when it belongs to none."
  ),
  delivery_id: field(
    Schema.optionalWith(DeliveryId, { exact: true }),
    "The delivery that the event belongs to. Absent when it belongs to none."
  ),
  delegation_id: field(
    Schema.optionalWith(DelegationId, { exact: true }),
    "The delegation that the event belongs to. Absent when it belongs to none."
  )
})
export type EventSubjects = typeof EventSubjects.Type

export const Event = Schema.Struct({
  id: field(EventId, "The id of the event."),
  seq: field(Schema.Int, "The number of the event in its session, counted from 1 without a gap. `after` takes it."),
  type: field(Schema.String, "The type of the event. It decides the payload."),
  schema_version: field(
    Schema.Int,
    "The version of the shape of the payload. It grows when a reader of the old shape could misread the new one."
  ),
  session_id: field(SessionId, "The session whose log it is in."),
  workspace_id: field(WorkspaceId, "The workspace of the session."),
  recorded_at: field(Timestamp, "The time at which it was committed."),
  actor: field(Actor, "The one who did it."),
  ...EventSubjects.fields,
  payload: field(
    Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    "The facts. Their shape depends on `type`."
  )
}).annotations({
  identifier: "Event",
  description:
    "One fact of a session. `seq` starts at 1 and has no gaps; the pair (session_id, seq) never changes its meaning."
})
export type Event = typeof Event.Type

export const WorkspaceEvent = Schema.Struct({
  position: field(
    Schema.Int,
    "Its place among the events of the workspace, counted from 1 without a gap. `after` takes it."
  ),
  event: field(Event, "The event, as the stream of its session gives it. Its `seq` counts in the session.")
}).annotations({ identifier: "WorkspaceEvent", description: "An event of one of the sessions of a workspace." })
export type WorkspaceEvent = typeof WorkspaceEvent.Type

/** An event as a typed union, for readers that switch over `type`. */
export type TypedEvent = {
  [T in EventType]: Omit<Event, "type" | "payload"> & { readonly type: T; readonly payload: EventPayload<T> }
}[EventType]

/** An event as a command gives it to the journal, which adds id, seq and time. */
export type NewEvent = {
  [T in EventType]: { readonly type: T; readonly payload: EventPayload<T>; readonly subjects?: EventSubjects }
}[EventType]
