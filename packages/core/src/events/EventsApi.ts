import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, read } from "@reins/base/domain/Endpoint"
import { Event, WorkspaceEvent } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { boolean, commaList, integer, LabelText, number } from "@reins/base/domain/Query"
import { Schema } from "effect"

/** The parameters with which every log of events is read, of a session and of a workspace. */
export const eventParameters = {
  limit: field(
    Schema.optionalWith(integer({ min: 1, max: 1000 }), { default: () => 500 }),
    "The most events of a page; of a stream, how many events are read at a time."
  ),
  types: field(
    Schema.optionalWith(commaList, { exact: true }),
    "Only these types of events: a comma list of names, or of prefixes as in `turn.*`. Given more than once, the lists are one."
  ),
  max_seconds: field(
    Schema.optionalWith(number(), { default: () => 600 }),
    "How long a stream stays open, in seconds; from 0.5 to 600. A page is answered at once."
  )
}

export const EventPage = Schema.Struct({
  items: field(Schema.Array(Event), "The events."),
  next_after: field(Schema.Int, "Pass it as `after` to read on."),
  has_more: field(Schema.Boolean, "True when there are more events now."),
  event_watermark: field(Schema.Int, "The `seq` of the newest event of the session.")
}).annotations({ identifier: "EventPage", description: "Events of a session, in their order." })
export type EventPage = typeof EventPage.Type

export const EventQuery = Schema.Struct({
  after: field(
    Schema.optionalWith(integer(), { exact: true }),
    "Only events after this one: the `seq` of the last that was read. Exclusive."
  ),
  limit: eventParameters.limit,
  types: eventParameters.types,
  turn_id: field(Schema.optionalWith(Schema.String, { exact: true }), "Only the events of this turn."),
  max_seconds: eventParameters.max_seconds,
  deltas: field(
    Schema.optionalWith(boolean, { default: () => false }),
    "Streams also give words as the agent says them, before they are in the log: `event: message.delta` without an id."
  )
})

export const WorkspaceEventPage = Schema.Struct({
  items: field(Schema.Array(WorkspaceEvent), "The events."),
  next_after: field(Schema.Int, "Pass it as `after` to read on."),
  has_more: field(Schema.Boolean, "True when there are more events now."),
  event_watermark: field(Schema.Int, "The position of the newest event of the workspace.")
}).annotations({
  identifier: "WorkspaceEventPage",
  description: "Events of a workspace, in the order of their positions."
})
export type WorkspaceEventPage = typeof WorkspaceEventPage.Type

export const WorkspaceEventQuery = Schema.Struct({
  after: field(
    Schema.optionalWith(integer(), { exact: true }),
    "Only events after this one: the position of the last that was read. Exclusive; when absent, from the first event that is kept."
  ),
  limit: eventParameters.limit,
  types: eventParameters.types,
  project_id: field(
    Schema.optionalWith(Schema.String, { exact: true }),
    "Only events of the sessions of this project."
  ),
  label: field(
    Schema.optionalWith(LabelText, { exact: true }),
    "Only events of sessions that have this label now, as `name=value` with the exact value; the first `=` ends the name. A `session.updated` " +
      "comes whatever the labels are, because it may tell that a session has taken the label or lost it."
  ),
  max_seconds: eventParameters.max_seconds
})

const session = idPath("session_id")

export class SessionEventsApi extends HttpApiGroup.make("sessions").add(
  read("listEvents", "/api/sessions/:session_id/events", "Read or stream the events of a session")
    .setPath(session)
    .setUrlParams(EventQuery)
    .addSuccess(EventPage)
) {}

export class WorkspaceEventsApi extends HttpApiGroup.make("workspaces").add(
  read("listEvents", "/api/workspaces/:workspace_id/events", "Read or stream the events of all sessions of a workspace")
    .setPath(idPath("workspace_id"))
    .setUrlParams(WorkspaceEventQuery)
    .addSuccess(WorkspaceEventPage)
    .annotateContext(extension)
) {}
