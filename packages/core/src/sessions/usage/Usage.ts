import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, read } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ApiKeyId, SessionId, WorkspaceId } from "@reins/base/domain/Ids"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { ListPrice } from "../../connections/ListPrices.js"
import { UsageSum } from "../rows/UsageSum.js"

const ModelUsage = Schema.Struct({
  provider_id: field(Schema.String, "The provider that the turns ran with."),
  model: field(Schema.NullOr(Schema.String), "The model that was chosen; null where none was."),
  list_price: field(
    Schema.NullOr(ListPrice),
    "The list price of the model, by which `list_cost_usd` was taken; null when this release knows none."
  ),
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

export const UsageGrouping = Schema.Literal("day", "session", "model", "api_key", "day_model").annotations({
  description: "What usage is summed up by; `day_model` is by day, and by model within it."
})
export type UsageGrouping = typeof UsageGrouping.Type

const named = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

export const UsageGroup = Schema.Struct({
  day: field(named(Schema.String), "The day in UTC, as in `2026-01-31`. Present with `group_by=day` and `day_model`."),
  session_id: field(named(SessionId), "The session. Present with `group_by=session`."),
  provider_id: field(named(Schema.String), "The provider. Present with `group_by=model` and `day_model`."),
  model: field(
    named(Schema.NullOr(Schema.String)),
    "The model that was chosen; null where none was. Present with `group_by=model` and `day_model`."
  ),
  api_key_id: field(
    named(Schema.NullOr(ApiKeyId)),
    "The API key that the turns were made with, or for; null for those of people and of none. Present with `group_by=api_key`."
  ),
  ...UsageSum.fields
}).annotations({ identifier: "UsageGroup", description: "The usage of one day, session, model or API key." })
export type UsageGroup = typeof UsageGroup.Type

export const WorkspaceUsage = Schema.Struct({
  workspace_id: field(WorkspaceId, "The workspace whose usage it is."),
  from: field(Schema.NullOr(Schema.String), "The first day that was asked for; null for the beginning."),
  to: field(Schema.NullOr(Schema.String), "The last day that was asked for; null for today."),
  total: field(UsageSum, "All of it."),
  by_model: byModel,
  group_by: field(Schema.NullOr(UsageGrouping), "What `groups` are by, as it was asked for; null without groups."),
  groups: field(
    Schema.Array(UsageGroup),
    "The same by what was asked for: a page of them. Days, sessions and keys come newest first, models by their names. Empty without `group_by`."
  ),
  next_cursor: field(
    Schema.NullOr(Schema.String),
    "Give it as `cursor` for the next page of groups; null on the last one."
  )
}).annotations({
  identifier: "WorkspaceUsage",
  description:
    "What the agents of a workspace used: as the gateways said it, and as the agents did where their calls do not pass through the service."
})
export type WorkspaceUsage = typeof WorkspaceUsage.Type

export const UsageQuery = Schema.Struct({
  from: bound("Only turns that ended on this day in UTC or later, as in `2026-01-31`."),
  to: bound("Only turns that ended on this day in UTC or before."),
  group_by: field(
    Schema.optionalWith(UsageGrouping, { exact: true }),
    "Also sums it up by this, in `groups`. Without it `groups` is empty."
  ),
  ...pageFields
})
export type UsageQuery = typeof UsageQuery.Type

export class WorkspaceUsageApi extends HttpApiGroup.make("workspaces").add(
  read("getUsage", "/api/workspaces/:workspace_id/usage", "The usage of a workspace, over turns that have ended")
    .setPath(idPath("workspace_id"))
    .setUrlParams(UsageQuery)
    .addSuccess(WorkspaceUsage)
    .annotateContext(extension)
) {}
