import { Schema } from "effect"
import { WorkspaceEvent } from "../domain/Event.js"
import { field } from "../domain/Field.js"
import { eventParameters } from "./EventQuery.js"
import { integer, LabelText } from "./Query.js"

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
