import { Schema } from "effect"
import { field } from "../domain/Field.js"
import { SessionId, WorkspaceId } from "../domain/Ids.js"
import { UsageSum } from "../domain/UsageSum.js"

const ModelUsage = Schema.Struct({
  provider_id: field(Schema.String, "The provider that the turns ran with."),
  model: field(Schema.NullOr(Schema.String), "The model that was chosen; null where none was."),
  ...UsageSum.fields
}).annotations({ identifier: "ModelUsage", description: "The usage of one model of a provider." })

const byModel = field(
  Schema.Array(ModelUsage),
  "The same for each provider and model, those with the most turns first."
)

export const SessionUsage = Schema.Struct({
  session_id: field(SessionId, "The session whose usage it is."),
  total: field(UsageSum, "All of it, without what was delegated."),
  by_model: byModel,
  with_delegations: field(
    UsageSum,
    "The sum over the session and all sessions that work for it by delegation, or for one of those."
  )
}).annotations({
  identifier: "SessionUsage",
  description:
    "What the agents of a session used: as the gateways said it, and as the agents did where their calls do not pass through the service."
})
export type SessionUsage = typeof SessionUsage.Type

const day = Schema.String.pipe(Schema.pattern(/^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/))
const bound = (description: string) => field(Schema.optionalWith(day, { exact: true }), description)

export const WorkspaceUsage = Schema.Struct({
  workspace_id: field(WorkspaceId, "The workspace whose usage it is."),
  from: field(Schema.NullOr(Schema.String), "The first day that was asked for; null for the beginning."),
  to: field(Schema.NullOr(Schema.String), "The last day that was asked for; null for today."),
  total: field(UsageSum, "All of it."),
  by_model: byModel
}).annotations({
  identifier: "WorkspaceUsage",
  description:
    "What the agents of a workspace used: as the gateways said it, and as the agents did where their calls do not pass through the service."
})
export type WorkspaceUsage = typeof WorkspaceUsage.Type

export const UsageQuery = Schema.Struct({
  from: bound("Only turns that ended on this day in UTC or later, as in `2026-01-31`."),
  to: bound("Only turns that ended on this day in UTC or before.")
})
export type UsageQuery = typeof UsageQuery.Type
