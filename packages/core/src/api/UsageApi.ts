import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { SessionId, WorkspaceId } from "../domain/Ids.js"
import { UsageSum } from "../domain/UsageSum.js"
import { extension, idPath, read } from "./Endpoint.js"

const ModelUsage = Schema.Struct({
  provider_id: Schema.String.annotations({ description: "The provider that the turns ran with." }),
  model: Schema.NullOr(Schema.String).annotations({ description: "The model that was chosen; null where none was." }),
  ...UsageSum.fields
}).annotations({ identifier: "ModelUsage" })

const byModel = Schema.Array(ModelUsage).annotations({
  description: "The same for each provider and model, those with the most turns first."
})

export const SessionUsage = Schema.Struct({
  session_id: SessionId,
  total: UsageSum,
  by_model: byModel
}).annotations({ identifier: "SessionUsage" })
export type SessionUsage = typeof SessionUsage.Type

const day = Schema.String.pipe(Schema.pattern(/^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/))
const bound = (description: string) => Schema.optionalWith(day.annotations({ description }), { exact: true })

export const WorkspaceUsage = Schema.Struct({
  workspace_id: WorkspaceId,
  from: Schema.NullOr(Schema.String).annotations({
    description: "The first day that was asked for; null for the beginning."
  }),
  to: Schema.NullOr(Schema.String).annotations({ description: "The last day that was asked for; null for today." }),
  total: UsageSum,
  by_model: byModel
}).annotations({ identifier: "WorkspaceUsage" })
export type WorkspaceUsage = typeof WorkspaceUsage.Type

export const UsageQuery = Schema.Struct({
  from: bound("Only turns that ended on this day in UTC or later, as in `2026-01-31`."),
  to: bound("Only turns that ended on this day in UTC or before.")
})
export type UsageQuery = typeof UsageQuery.Type

export class UsageApi extends HttpApiGroup.make("usage")
  .add(
    read("session", "/api/sessions/:session_id/usage", "The usage of a session, over its turns that have ended")
      .setPath(idPath("session_id"))
      .addSuccess(SessionUsage)
  )
  .add(
    read("workspace", "/api/workspaces/:workspace_id/usage", "The usage of a workspace, over turns that have ended")
      .setPath(idPath("workspace_id"))
      .setUrlParams(UsageQuery)
      .addSuccess(WorkspaceUsage)
  )
  .annotateEndpointsContext(extension) {}
