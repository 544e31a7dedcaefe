import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, post, read, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { withDefaultOf } from "@reins/base/domain/Installed"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { ExecutorBackend } from "@reins/machine/executor/ExecutorBackend"
import { Schema } from "effect"
import { OperationRef } from "../jobs/Job.js"
import { AvailableHarness, HarnessEntry, Model } from "./Catalog.js"

export const HarnessList = Schema.Struct({
  items: field(Schema.Array(HarnessEntry), "The providers, disabled ones included."),
  available: field(
    Schema.Array(AvailableHarness),
    "The providers that are part of the release and that nobody has enabled. `enabled_by` says who may."
  ),
  enabled_by: field(
    Schema.Literal("owners", "operator"),
    "`owners` of workspaces enable providers with `POST …/harness-installations`; an `operator` does so with `reins harnesses enable` on the server, always."
  )
}).annotations({
  identifier: "HarnessList",
  description: "The providers of this installation."
})
export const ExecutorBackendList = Schema.Struct({
  items: field(Schema.Array(ExecutorBackend), "The executors, the default one first.")
}).annotations({
  identifier: "ExecutorBackendList",
  description: "The executors of this installation."
})

export const ModelList = Schema.Struct({
  items: field(Schema.Array(Model), "The models."),
  observed_at: field(Timestamp, "The time at which the gateway was asked.")
}).annotations({
  identifier: "ModelList",
  description: "All models in one answer."
})
export type ModelList = typeof ModelList.Type

export const ModelQuery = Schema.Struct({
  workspace_id: field(
    Schema.optionalWith(Schema.String, { exact: true }),
    "The workspace whose connection is asked. The caller's personal one when absent."
  ),
  provider_id: field(
    Schema.optionalWith(withDefaultOf("providers"), { exact: true }),
    "The provider whose models are listed. The default provider of the installation when absent."
  ),
  connection_id: field(
    Schema.optionalWith(Schema.String, { exact: true }),
    "The models of this connection, which has to be of the kind that the provider runs with; its workspace is taken unless workspace_id names one. When absent, those of the connection that a session would take by itself: the newest active one of that kind."
  )
})
export type ModelQuery = typeof ModelQuery.Type

export const Limits = Schema.Struct({
  message_characters: field(Schema.Int, "The longest text of a message, in characters."),
  attachments_per_message: field(Schema.Int, "The most files that come with one message."),
  json_body_bytes: field(Schema.Int, "The largest body of a request, in bytes."),
  upload_bytes: field(Schema.Int, "The largest file of an upload, in bytes."),
  file_read_bytes: field(Schema.Int, "The most bytes of a file that one read answers with."),
  diff_bytes: field(Schema.Int, "The most bytes of a diff."),
  diff_file_bytes: field(Schema.Int, "The most bytes of one file in a diff."),
  diff_files: field(Schema.Int, "The most files of a diff."),
  executor_idle_minutes: field(Schema.Number, "The minutes after which an unused executor is released."),
  queued_turns_per_session: field(Schema.Int, "The most turns of a session that wait."),
  turn_minutes: field(Schema.Number, "The longest time that one turn may take, in minutes."),
  interaction_minutes: field(Schema.Number, "The minutes that an agent waits for an answer."),
  delegation_depth: field(Schema.Int, "How deep delegations nest."),
  live_delegations_per_session: field(Schema.Int, "The most delegations of a session that go on at once."),
  delegations_per_tree: field(Schema.Int, "The most delegations of all sessions together that work for one another."),
  artifact_bytes: field(Schema.Int, "The largest file that an agent publishes, in bytes."),
  artifacts_per_turn: field(Schema.Int, "The most files that an agent publishes in a turn."),
  artifacts_per_session: field(Schema.Int, "The most published files that a session keeps."),
  offered_tools: field(Schema.Int, "The most tools that an agent is offered, with those of the service."),
  tool_calls_per_turn: field(Schema.Int, "The most calls of tools in a turn."),
  open_tool_calls_per_turn: field(Schema.Int, "The most calls of tools of a turn that are open at once."),
  tool_input_characters: field(Schema.Int, "The longest input of a call of a tool, in characters of its JSON."),
  tool_answer_characters: field(Schema.Int, "The longest answer of a tool that a model gets, in characters."),
  tool_answer_images: field(Schema.Int, "The most images of an answer of a tool that a model gets."),
  server_answer_bytes: field(Schema.Int, "The longest answer of a server of a project, in bytes."),
  servers_per_version: field(Schema.Int, "The most servers of tools that a project version names."),
  server_tools_per_version: field(
    Schema.Int,
    "The most tools that all servers of a project version are allowed together."
  ),
  requests_per_minute: field(
    Schema.NullOr(Schema.Int),
    "The requests of one caller in a minute; null when there is no limit."
  ),
  registrations_per_hour: field(
    Schema.NullOr(Schema.Int),
    "The accounts that one client may register within an hour; null when there is no limit."
  ),
  sessions_per_workspace: field(
    Schema.NullOr(Schema.Int),
    "The sessions of a workspace that are not closed; null when there is no limit."
  ),
  working_trees_per_workspace: field(
    Schema.NullOr(Schema.Int),
    "The working trees of a workspace; null when there is no limit."
  ),
  disk_bytes_per_workspace: field(
    Schema.NullOr(Schema.Int),
    "The bytes that the files of a workspace's sessions may take on the disk; null when there is no limit."
  ),
  streams_per_session: field(
    Schema.NullOr(Schema.Int),
    "The event streams of one caller on one session; null when there is no limit."
  ),
  events_page: field(Schema.Int, "The most events of a page."),
  stream_seconds: field(Schema.Number, "The longest time that an event stream stays open, in seconds."),
  event_retention_days: field(
    Schema.NullOr(Schema.Int),
    "The days that the events of a closed session are kept after the last of them; null for ever."
  ),
  idempotency_hours: field(Schema.Int, "The hours for which a repeated request is answered as the first was.")
}).annotations({ identifier: "Limits", description: "The limits in force. An operator may set others." })
export type Limits = typeof Limits.Type

export const Version = Schema.Struct({
  release: field(Schema.String, "The release of the server, as in `0.1.0`, by semantic versioning."),
  api_version: field(Schema.String, "The version of the API, as the OpenAPI document gives it.")
}).annotations({ identifier: "Version", description: "What is installed." })
export type Version = typeof Version.Type

export const HarnessInstallationInput = Schema.Struct({
  provider_id: field(
    Schema.String.pipe(Schema.maxLength(200)),
    "The provider whose pinned agent is to be installed. `GET /api/harnesses` lists them."
  ),
  enable: field(
    Schema.optionalWith(Schema.Boolean, { exact: true }),
    "True enables the provider first, for every workspace of the installation. Only one that is `available` needs it."
  ),
  accept_license: field(
    Schema.optionalWith(Schema.String.pipe(Schema.maxLength(200)), { exact: true }),
    "The `license` of a provider whose `license_asked` is true. Giving it says that you have read it and may use the agent."
  )
}).annotations({ identifier: "HarnessInstallationInput", description: "An agent to be installed." })
export type HarnessInstallationInput = typeof HarnessInstallationInput.Type

export const HarnessInstallationAnswer = Schema.Struct({
  operation: field(
    OperationRef,
    "The work. Its job ends as `succeeded` once the agent is there; meanwhile `installing` of `GET /api/harnesses` tells how far it is."
  )
}).annotations({ identifier: "HarnessInstallationAnswer", description: "An installation that was asked for." })
export type HarnessInstallationAnswer = typeof HarnessInstallationAnswer.Type

export class CatalogApi extends HttpApiGroup.make("catalog")
  .add(
    read(
      "listExecutorBackends",
      "/api/executor-backends",
      "The executors and the isolation that each gives"
    ).addSuccess(ExecutorBackendList)
  )
  .add(read("listHarnesses", "/api/harnesses", "The installed provider catalog").addSuccess(HarnessList))
  .add(
    post(
      "installHarness",
      "/api/workspaces/:workspace_id/harness-installations",
      "Install the pinned agent of a provider",
      "admin"
    )
      .setPath(idPath("workspace_id"))
      .setPayload(HarnessInstallationInput)
      .addSuccess(withStatus(HarnessInstallationAnswer, 202))
      .annotateContext(extension)
  )
  .add(
    read("listModels", "/api/models", "The models that a workspace's connection gives access to")
      .setUrlParams(ModelQuery)
      .addSuccess(ModelList)
  )
  .add(read("getLimits", "/api/limits", "The limits in force").addSuccess(Limits).annotateContext(extension))
  .add(
    read("getVersion", "/api/version", "The release of the server and the version of its API")
      .addSuccess(Version)
      .annotateContext(extension)
  ) {}
