import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, optional, post } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ProjectVersionId } from "@reins/base/domain/Ids"
import { Schema } from "effect"
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
    "`offered`: agents are offered it. `changed`: its description or schema is not the pinned one. `missing`: the server does not list it. `refused`: the server lists it in a way that cannot be offered; `reason` says why."
  ),
  reason: field(
    Schema.NullOr(Schema.String),
    "A sentence that says why it is `refused`, with the field that cannot be read; null for another standing."
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
    Schema.Literal("reached", "auth_required", "unusable", "unreachable"),
    "`reached`: its tools are known. `auth_required`: it takes no key or token that it was given, until somebody mends that. `unusable`: it answers, with a refusal or with what is no list of tools. `unreachable`: no answer came that has an end and that may be followed."
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
