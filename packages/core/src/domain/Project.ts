import { Schema } from "effect"
import { ConnectionId, ProjectId, ProjectVersionId, WorkspaceId } from "./Ids.js"
import { installed } from "./Installed.js"
import { refused } from "./Refused.js"
import { Timestamp } from "./Timestamp.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

/** The origin of a workspace: any URL that git fetches, without credentials in it. */
export const Repository = Schema.Struct({
  url: Schema.String.pipe(
    Schema.minLength(1),
    Schema.maxLength(2000),
    Schema.filter((url) => !/^-|\s|^[a-z+]+:\/\/[^/@]*:[^/@]*@/i.test(url), {
      message: () => "Input should be a git URL without credentials in it; hold credentials in a connection"
    })
  ),
  base_ref: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)))
}).annotations({ identifier: "Repository" })
export type Repository = typeof Repository.Type

export const HarnessSelection = Schema.Struct({
  provider_id: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64)),
  model: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)))
}).annotations({ identifier: "HarnessSelection" })
export type HarnessSelection = typeof HarnessSelection.Type

export const ExecutorSelection = Schema.Struct({
  backend: installed("executors"),
  limits: refused("executor limits are not enforced yet, so a session would run without them; leave them out")
}).annotations({ identifier: "ExecutorSelection" })
export type ExecutorSelection = typeof ExecutorSelection.Type

export const DeliveryTransport = Schema.Literal("patch", "git_branch")
export type DeliveryTransport = typeof DeliveryTransport.Type

export const ProjectSpec = Schema.Struct({
  repository: optional(Repository),
  harness: optional(HarnessSelection),
  executor: optional(ExecutorSelection),
  connection_ids: optional(Schema.Array(ConnectionId)),
  setup: refused("setup steps are not run yet, so a workspace would begin without them; leave them out"),
  delivery: optional(
    Schema.Struct({
      transport: optional(DeliveryTransport),
      branch_prefix: optional(Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/)))
    })
  ),
  /** True lets the service acknowledge interrupted turns in the same commit, so that the turns behind them go on by themselves. */
  auto_acknowledge: optional(Schema.Boolean)
}).annotations({ identifier: "ProjectSpec" })
export type ProjectSpec = typeof ProjectSpec.Type

export const Slug = Schema.String.pipe(Schema.pattern(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/))

export const Project = Schema.Struct({
  id: ProjectId,
  workspace_id: WorkspaceId,
  slug: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  latest_version: Schema.NullOr(Schema.Struct({ id: ProjectVersionId, ordinal: Schema.Int })),
  archived_at: Schema.NullOr(Timestamp),
  version: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp
}).annotations({ identifier: "Project" })
export type Project = typeof Project.Type

/** A published spec. It never changes, and publishing the same spec again gives back this version. */
export const ProjectVersion = Schema.Struct({
  id: ProjectVersionId,
  project_id: ProjectId,
  ordinal: Schema.Int,
  spec: ProjectSpec,
  /** SHA-256 of the spec in canonical JSON. */
  spec_digest: Schema.String,
  notes: Schema.NullOr(Schema.String),
  published_at: Timestamp
}).annotations({ identifier: "ProjectVersion" })
export type ProjectVersion = typeof ProjectVersion.Type
