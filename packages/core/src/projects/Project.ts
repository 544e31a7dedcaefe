import { ExecutorLimits } from "@reins/base/domain/ExecutorLimits"
import { field } from "@reins/base/domain/Field"
import { ConnectionId, ProjectId, ProjectVersionId, WorkspaceId } from "@reins/base/domain/Ids"
import { installed } from "@reins/base/domain/Installed"
import { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import { isRefName, RefInput, refNameRule } from "@reins/base/domain/RefName"
import { repositoryPlace } from "@reins/base/domain/RepositoryUrl"
import { SparseFolders } from "@reins/base/domain/SparseFolders"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { OptionChoices } from "@reins/machine/harness/AgentReport"
import { PermissionPolicy } from "@reins/machine/harness/Permissions"
import { Schema } from "effect"
import { CareInput } from "./CarePolicy.js"
import { ProjectMergeConditions } from "./MergeTerms.js"
import { ProjectServers } from "./ProjectServer.js"
import { Environment, Setup } from "./ProjectSetup.js"
import { ProjectInstructions, SkillPins } from "./skills/Skill.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

export const Repository = Schema.Struct({
  url: field(
    Schema.String.pipe(
      Schema.minLength(1),
      Schema.maxLength(2000),
      Schema.filter((url) => repositoryPlace(url) !== undefined, {
        message: () =>
          "Input should be an https URL of a git repository without credentials in it; hold those in a connection"
      })
    ),
    "Its https URL, without credentials in it; those belong in a connection. An operator may allow http, SSH and paths too. At most 2,000 characters."
  ),
  base_ref: field(
    optional(RefInput),
    "The branch or tag to start from, or the full id of a commit; the default branch when absent."
  ),
  sparse: field(
    optional(SparseFolders),
    'The folders that the workspace holds, as in `["apps/web", "packages/ui"]`, at most 100 of at most 500 characters; the whole tree when absent. The ' +
      "files at the root and in the folders above are there too. The agent's own repository is a sparse checkout in git's cone mode. A file that is not " +
      "there counts as unchanged, so changesets and delivered branches have the whole tree. A folder that the commit lacks is no error."
  )
}).annotations({ identifier: "Repository", description: "The origin of a workspace." })
export type Repository = typeof Repository.Type

export const HarnessSelection = Schema.Struct({
  provider_id: field(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64)),
    "The provider, as `GET /api/harnesses` lists it."
  ),
  model: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255))),
    "The model, as `GET /api/models` lists it. When absent, the preference of the connection."
  ),
  options: field(optional(OptionChoices), "The agent's options; its own choices when absent.")
}).annotations({ identifier: "HarnessSelection", description: "The provider that runs the sessions." })
export type HarnessSelection = typeof HarnessSelection.Type

export const ExecutorSelection = Schema.Struct({
  backend: field(installed("executors"), "The executor backend, as `GET /api/executor-backends` lists it."),
  limits: field(
    optional(ExecutorLimits),
    "The most that the agents of sessions may take; those of the server when absent."
  )
}).annotations({ identifier: "ExecutorSelection", description: "The executor that the sessions run on." })
export type ExecutorSelection = typeof ExecutorSelection.Type

export const DeliveryTransport = Schema.Literal("patch", "git_branch").annotations({
  description: "`git_branch` pushes a branch to the repository, `patch` keeps a text."
})
export type DeliveryTransport = typeof DeliveryTransport.Type

export const DeliveryAuthor = Schema.Literal("requester", "service").annotations({
  description:
    "`requester` is the account whose message began the turn, if it has set its git name; `service` is the service itself."
})
export type DeliveryAuthor = typeof DeliveryAuthor.Type

export const DeliveryTrailers = Schema.Struct({
  session: field(optional(Schema.Boolean), "`Reins-Session` and `Reins-Changeset` with their ids; true when absent."),
  co_authors: field(
    optional(Schema.Boolean),
    "`Co-authored-by` for the others who have sent messages since the last delivery, if they have set their git names; true when absent."
  ),
  assisted_by: field(
    optional(Schema.Boolean),
    "`Assisted-by` with the agent and the model of the turn, as in `OpenCode:gpt-5`; false when absent."
  )
}).annotations({ identifier: "DeliveryTrailers", description: "The lines at the end of a commit's message." })
export type DeliveryTrailers = typeof DeliveryTrailers.Type

/** The tools that the service itself has for agents. */
export const OwnTool = Schema.Literal(
  "delegate",
  "wait",
  "message",
  "read_diff",
  "apply_changeset",
  "cancel",
  "submit_result",
  "ask_user",
  "publish_artifact"
).annotations({ description: "A tool of the service." })
export type OwnTool = typeof OwnTool.Type

export const ToolSelection = Schema.Struct({
  own: field(
    optional(Schema.Array(OwnTool).pipe(Schema.maxItems(20))),
    "The names of the tools that are offered; none for an empty list, and all when absent. A turn that has to give a result is always offered `submit_result`."
  )
}).annotations({ identifier: "ToolSelection", description: "The tools that agents are offered." })
export type ToolSelection = typeof ToolSelection.Type

export const ProjectTools = Schema.Struct({
  ...ToolSelection.fields,
  mcp_servers: field(
    optional(ProjectServers),
    "Servers of the Model Context Protocol, whose tools agents are offered. `servers_per_version` and `server_tools_per_version` of the limits bound them. Their keys never reach an agent."
  )
}).annotations({ identifier: "ProjectTools", description: "The tools that the agents of a project are offered." })
export type ProjectTools = typeof ProjectTools.Type

export const ProjectSpec = Schema.Struct({
  repository: field(optional(Repository), "The origin of the workspace; without it a workspace starts empty."),
  harness: field(optional(HarnessSelection), "The provider; the default of the installation when absent."),
  executor: field(optional(ExecutorSelection), "The executor; the default of the installation when absent."),
  connection_ids: field(
    optional(Schema.Array(ConnectionId)),
    "The connections that sessions may use: for the model, for cloning and for delivering."
  ),
  network: field(
    optional(NetworkAccess),
    "What agents may connect to besides their model. `none` and lists need an executor that enforces them, whose `isolation.network` is " +
      "`restricted`; a session on another one is refused. When absent, agents in a sandbox connect to nothing else."
  ),
  setup: field(
    optional(Setup),
    "The commands that prepare a workspace, one after the other, before its agent starts. What they leave is kept and copied into the workspaces of " +
      "later sessions with the same commands, variables and base commit. They are no part of changesets."
  ),
  setup_network: field(
    optional(NetworkAccess),
    "What the commands of `setup` may connect to, as in `network` and apart from it. When absent, commands in a sandbox connect to nothing."
  ),
  environment: field(
    optional(Environment),
    "Variables for the commands of `setup` and for agents, at most 100. Secrets are named and never in the spec."
  ),
  delivery: field(
    optional(
      Schema.Struct({
        transport: field(
          optional(DeliveryTransport),
          "The transport; by default `git_branch` for a session with a repository and `patch` for one without."
        ),
        branch_prefix: field(
          optional(
            Schema.String.pipe(
              Schema.minLength(1),
              Schema.maxLength(100),
              Schema.filter((prefix) => isRefName(prefix.replace(/\/$/, "")), {
                message: () => `Input should be the start of a branch name: ${refNameRule}`
              })
            )
          ),
          "The folder of the branches, with or without a slash at its end; `reins/` by default."
        ),
        author: field(
          optional(DeliveryAuthor),
          "The author of the commits; `requester` by default. The account that has asked for the work is named only once it has set its git name."
        ),
        trailers: field(optional(DeliveryTrailers), "The lines at the end of a commit's message."),
        sign: field(
          optional(Schema.Boolean),
          "True signs the commits with the newest signing key of the workspace, and blocks a delivery where there is none. False by default."
        ),
        care: field(
          optional(CareInput),
          "How Reins cares for the merge requests of deliveries. Each takes it over when it is opened; nothing by default."
        ),
        merge_conditions: field(
          optional(ProjectMergeConditions),
          "The conditions under which merge requests are merged by themselves. Each one takes them over as it is opened. None when absent."
        )
      })
    ),
    "How changesets are delivered when a request does not say."
  ),
  tools: field(
    optional(ProjectTools),
    "The tools that agents are offered: those of the service, which are all of them when absent, and those of servers."
  ),
  instructions: field(
    optional(ProjectInstructions),
    "What agents are told of the work in every session, at most 65,536 characters. They find it in their home, and it is no part of a changeset."
  ),
  skills: field(
    optional(SkillPins),
    "The skills that agents find in their home, at most 20. Each is pinned by the digest of its files."
  ),
  permissions: field(
    optional(PermissionPolicy),
    "What the agents of sessions may do by themselves; what the provider is set up for when absent."
  ),
  auto_acknowledge: field(
    optional(Schema.Boolean),
    "True lets the service acknowledge interrupted turns in the same commit, so that the turns behind them go on by themselves."
  )
}).annotations({
  identifier: "ProjectSpec",
  description: "What sessions of a project start from. A session may select other values for itself."
})
export type ProjectSpec = typeof ProjectSpec.Type

/** The networks of agents and of setup steps, as far as a spec names them. */
export const networksOf = (spec: ProjectSpec): ReadonlyArray<NetworkAccess> =>
  [spec.network, spec.setup_network].filter((network) => network !== undefined)

export const Slug = Schema.String.pipe(Schema.pattern(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/)).annotations({
  description: "Lower-case letters, digits and hyphens, at most 64 characters, with neither end a hyphen."
})

export const Project = Schema.Struct({
  id: field(ProjectId, "The id of the project."),
  workspace_id: field(WorkspaceId, "The workspace that owns it."),
  slug: field(Schema.String, "Its short name, which is unique in the workspace and never changes."),
  name: field(Schema.String, "Its name for people."),
  description: field(Schema.NullOr(Schema.String), "Its description; null for none."),
  latest_version: field(
    Schema.NullOr(
      Schema.Struct({
        id: field(ProjectVersionId, "The id of the version."),
        ordinal: field(Schema.Int, "The number of the version, counted from 1.")
      })
    ),
    "The version that new sessions start from; null before the first one is published."
  ),
  archived_at: field(Schema.NullOr(Timestamp), "The time at which it was archived; null while it is in use."),
  version: field(
    Schema.Int,
    "Grows by one with each change of the project itself, for `expected_version` and `If-Match`."
  ),
  created_at: field(Timestamp, "The time at which the project was made."),
  updated_at: field(Timestamp, "The time of its last change.")
}).annotations({ identifier: "Project", description: "A named setting for sessions, in published versions." })
export type Project = typeof Project.Type

export const ProjectVersion = Schema.Struct({
  id: field(ProjectVersionId, "The id of the version."),
  project_id: field(ProjectId, "The project that it is a version of."),
  ordinal: field(Schema.Int, "The number of the version, counted from 1."),
  spec: field(ProjectSpec, "What sessions start from."),
  spec_digest: field(Schema.String, "SHA-256 of the spec in canonical JSON."),
  notes: field(Schema.NullOr(Schema.String), "What was said of the version; null for nothing."),
  published_at: field(Timestamp, "The time at which it was published.")
}).annotations({
  identifier: "ProjectVersion",
  description: "A published spec. It never changes, and publishing the same spec again gives back this version."
})
export type ProjectVersion = typeof ProjectVersion.Type

export const ProjectSecret = Schema.Struct({
  name: field(Schema.String, "The name by which the environment of a spec asks for it."),
  version: field(Schema.Int, "Counts the values that it has had, from 1."),
  created_at: field(Timestamp, "The time at which it was given first."),
  updated_at: field(Timestamp, "The time of its newest value.")
}).annotations({
  identifier: "ProjectSecret",
  description:
    "A secret of a project. Its value is sealed and never shown again. Versions of the project name it, so that it can be replaced without another version."
})
export type ProjectSecret = typeof ProjectSecret.Type
