import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { ExecutorBackend, HarnessEntry, Model } from "../domain/Catalog.js"
import { withDefaultOf } from "../domain/Installed.js"
import { Job, Operation } from "../domain/Job.js"
import { Timestamp } from "../domain/Timestamp.js"
import { extension, idPath, read } from "./Endpoint.js"

export const HarnessList = Schema.Struct({ items: Schema.Array(HarnessEntry) }).annotations({
  identifier: "HarnessList"
})
export const ExecutorBackendList = Schema.Struct({ items: Schema.Array(ExecutorBackend) }).annotations({
  identifier: "ExecutorBackendList"
})

/** All models in one answer. Each time is that of the question to the gateway. */
export const ModelList = Schema.Struct({ items: Schema.Array(Model), observed_at: Timestamp }).annotations({
  identifier: "ModelList"
})
export type ModelList = typeof ModelList.Type

export const ModelQuery = Schema.Struct({
  /** The caller's personal workspace when absent. */
  workspace_id: Schema.optionalWith(Schema.String, { exact: true }),
  /** The default provider of the installation when absent. */
  provider_id: Schema.optionalWith(withDefaultOf("providers"), { exact: true })
})
export type ModelQuery = typeof ModelQuery.Type

export const Limits = Schema.Struct({
  message_characters: Schema.Int,
  attachments_per_message: Schema.Int,
  json_body_bytes: Schema.Int,
  upload_bytes: Schema.Int,
  file_read_bytes: Schema.Int,
  diff_bytes: Schema.Int,
  diff_file_bytes: Schema.Int,
  diff_files: Schema.Int,
  executor_idle_minutes: Schema.Number,
  queued_turns_per_session: Schema.Int,
  turn_minutes: Schema.Number,
  interaction_minutes: Schema.Number,
  delegation_depth: Schema.Int,
  live_delegations_per_session: Schema.Int,
  /** The limit of one caller; null when there is none. */
  requests_per_minute: Schema.NullOr(Schema.Int),
  /** The limit of one caller; null when there is none. */
  streams_per_session: Schema.NullOr(Schema.Int),
  events_page: Schema.Int,
  stream_seconds: Schema.Number,
  /** The days that the events of a closed session are kept after the last of them; null for ever. */
  event_retention_days: Schema.NullOr(Schema.Int),
  idempotency_hours: Schema.Int
}).annotations({ identifier: "Limits" })
export type Limits = typeof Limits.Type

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
    read("listModels", "/api/models", "The models that a workspace's connection gives access to")
      .setUrlParams(ModelQuery)
      .addSuccess(ModelList)
  )
  .add(read("getLimits", "/api/limits", "The limits in force").addSuccess(Limits).annotateContext(extension)) {}

export class JobsApi extends HttpApiGroup.make("jobs")
  .add(read("get", "/api/jobs/:job_id", "Read a job with its attempts").setPath(idPath("job_id")).addSuccess(Job))
  .add(
    read("getOperation", "/api/operations/:operation_id", "The jobs and attempts of an operation")
      .setPath(idPath("operation_id"))
      .addSuccess(Operation)
  ) {}
