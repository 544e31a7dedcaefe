import { Schema } from "effect"
import { field } from "./Field.js"
import { ChangesetId, DelegationId, DeliveryId, EventId, JobId, SessionId, TurnId, WorkspaceId } from "./Ids.js"
import { Timestamp } from "./Timestamp.js"

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
    "Its place among the events of the workspace, counted from 1. Deleted sessions leave gaps. `after` takes it."
  ),
  event: field(Event, "The event, as the stream of its session gives it. Its `seq` counts in the session.")
}).annotations({ identifier: "WorkspaceEvent", description: "An event of one of the sessions of a workspace." })
export type WorkspaceEvent = typeof WorkspaceEvent.Type

/** A type of event, as the room says that owns it. */
export interface EventKind {
  readonly payload: Schema.Schema.AnyNoContext
  /** When an event of the type comes, for the pages of documentation and the OpenAPI document. */
  readonly text: string
}

/** The types of events of a room, by their names. */
export const eventKinds = <const Kinds extends Readonly<Record<string, EventKind>>>(kinds: Kinds): Kinds => kinds

/** The payloads of the types of a room. */
export type PayloadsOf<Kinds extends Readonly<Record<string, EventKind>>> = {
  readonly [Type in keyof Kinds]: Schema.Schema.Type<Kinds[Type]["payload"]>
}

/** The payload of every type of event. Each room adds those that it owns, in its `Events.ts`; `Events.ts` beside the rooms has all of them. */
// biome-ignore lint/suspicious/noEmptyInterface: the rooms declare its members
export interface EventPayloads {}

export type EventType = Extract<keyof EventPayloads, string>
export type EventPayload<T extends EventType> = EventPayloads[T]

/** The resources whose events are in the stream of a workspace. A list of sessions shows these, and none of the words and tools of agents. */
const listed: ReadonlySet<string> = new Set([
  "session",
  "turn",
  "usage",
  "changeset",
  "delivery",
  "merge_request",
  "delegation"
])

/** True for a type that is in the stream of a workspace. */
export const isListed = (type: string): boolean => listed.has(type.slice(0, type.indexOf(".")))

/** An event as a typed union, for readers that switch over `type`. */
export type TypedEvent = {
  [T in EventType]: Omit<Event, "type" | "payload"> & { readonly type: T; readonly payload: EventPayload<T> }
}[EventType]

/** An event as a command gives it to the journal, which adds id, seq and time. */
export type NewEvent = {
  [T in EventType]: { readonly type: T; readonly payload: EventPayload<T>; readonly subjects?: EventSubjects }
}[EventType]
