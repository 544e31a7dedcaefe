import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { extension, idPath, read } from "../domain/Endpoint.js"
import { Page } from "../domain/Page.js"
import { pageFields } from "../domain/Query.js"
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
