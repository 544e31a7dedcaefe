import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, read } from "@reins/base/domain/Endpoint"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { ToolCallRecord } from "./ToolCall.js"

export class ToolCallsApi extends HttpApiGroup.make("toolCalls")
  .add(
    read(
      "list",
      "/api/turns/:turn_id/tool-calls",
      "List the calls of the service's tools that the agent made in a turn"
    )
      .setPath(idPath("turn_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("ToolCallList", ToolCallRecord))
  )
  .annotateEndpointsContext(extension) {}
