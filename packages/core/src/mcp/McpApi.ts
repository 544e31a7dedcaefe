import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { extension, idPath, optional, post } from "../domain/Endpoint.js"
import { field } from "../domain/Field.js"
import { ProjectVersionId } from "../domain/Ids.js"
import { ProjectVersion } from "../projects/Project.js"

export const ServerCheckInput = Schema.Struct({
  version_id: field(optional(ProjectVersionId), "The version of the project to check; the newest one when absent."),
  pin: field(
    optional(Schema.Boolean),
    "True publishes the next version, with the tools pinned as the servers describe them now. False when absent."
  )
}).annotations({ identifier: "ServerCheckInput", description: "Which servers to check." })
export type ServerCheckInput = typeof ServerCheckInput.Type

const CheckedTool = Schema.Struct({
  name: field(Schema.String, "The name of a tool in `allow`."),
  standing: field(
    Schema.Literal("offered", "changed", "missing", "refused"),
    "`offered`: agents are offered it. `changed`: its description or schema is not the pinned one. `missing`: the server does not list it. `refused`: its description has over 10,000 characters, its schema over 64 KiB, or its input is no object."
  ),
  description: field(
    Schema.NullOr(Schema.String),
    "Its description as the server gives it now, at most 10,000 characters; null where there is none."
  ),
  digest: field(Schema.NullOr(Schema.String), "The digest that a pin of it has; null where nothing can be pinned."),
  bytes: field(Schema.Int, "The size of its description and schema, which the model reads, in bytes of JSON."),
  permission: field(Schema.Literal("allow", "ask"), "Whether people are asked before each call.")
}).annotations({ identifier: "CheckedTool", description: "A tool of a server as it was found." })

export const CheckedServer = Schema.Struct({
  name: field(Schema.String, "The name of the server."),
  state: field(
    Schema.Literal("reached", "auth_required", "unreachable"),
    "Whether it answered. `auth_required`: its connection gives no token that it takes, until somebody mends the connection."
  ),
  problem: field(
    Schema.NullOr(Schema.String),
    "Why it cannot be used, in a sentence without secrets; null where it was reached."
  ),
  protocol: field(
    Schema.NullOr(Schema.String),
    "The version of the Model Context Protocol that it speaks, a date; null where it was not reached."
  ),
  listed: field(Schema.Int, "The number of tools that it lists, allowed or not."),
  tools: field(Schema.Array(CheckedTool), "The allowed tools, in the order of `allow`.")
}).annotations({ identifier: "CheckedServer", description: "A server of a project as it was found." })
export type CheckedServer = typeof CheckedServer.Type

export const ServerCheck = Schema.Struct({
  version: field(ProjectVersion, "The version that was checked, or the one that was published with the pins."),
  servers: field(Schema.Array(CheckedServer), "Its servers, in the order of the spec.")
}).annotations({ identifier: "ServerCheck", description: "The servers of a version of a project as they are now." })
export type ServerCheck = typeof ServerCheck.Type

export class McpApi extends HttpApiGroup.make("projects")
  .add(
    post(
      "checkServers",
      "/api/projects/:project_id/mcp-checks",
      "Connect to the servers of a project, and see which of their tools agents are offered"
    )
      .setPath(idPath("project_id"))
      .setPayload(ServerCheckInput)
      .addSuccess(ServerCheck)
  )
  .annotateEndpointsContext(extension) {}
