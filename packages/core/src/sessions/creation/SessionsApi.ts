import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, optional, patch, post, read, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ConnectionId, ProjectId, ProjectVersionId, TurnId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { LabelText, pageFields } from "@reins/base/domain/Query"
import { OptionChoices } from "@reins/machine/harness/AgentReport"
import { PermissionPolicy } from "@reins/machine/harness/Permissions"
import { Schema } from "effect"
import { BudgetInput } from "../../budgets/Budget.js"
import { OperationRef } from "../../jobs/Job.js"
import { ExecutorSelection, HarnessSelection, Repository } from "../../projects/Project.js"
import { MessageTools, SessionTools } from "../functions/FunctionTool.js"
import { MessageInput, Routing } from "../rows/Message.js"
import { Labels, Session, SessionActivity, SessionLifecycle } from "../rows/Session.js"
import { ResultSchema } from "../rows/TurnResult.js"
import { SessionUsage } from "../usage/Usage.js"

const Title = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(500))

/** The first message of a session: its content by itself, or in an object as `POST /api/sessions/{session_id}/messages` takes it. */
export const FirstMessage = Schema.Union(
  MessageInput,
  Schema.Struct({
    content: field(MessageInput, "What is said."),
    routing: field(optional(Routing), "Where it goes; `queue` when absent."),
    budget: field(optional(BudgetInput), "What the model calls of its turn may spend."),
    result_schema: field(optional(ResultSchema), "The schema of the result that its turn has to give."),
    tools: field(optional(MessageTools), "The functions that the agent is offered in its turn.")
  })
).annotations({
  identifier: "FirstMessage",
  description:
    "The first message of a session: text, or a list of blocks, or an object with that as its `content`. It cannot have files, because files are " +
    "uploaded to a session that is there."
})

export const SessionRepository = Schema.Struct({
  ...Repository.fields,
  connection_id: field(
    Schema.optionalWith(Schema.NullOr(ConnectionId), { exact: true }),
    "The connection that git uses. When absent, one of the project that fits, else the active one of the workspace for the same protocol, host and port. " +
      "Null for none, so that git asks without a credential."
  )
}).annotations({ identifier: "SessionRepository", description: "The origin of the workspace of a session." })

export const SessionInput = Schema.Struct({
  project_id: field(optional(ProjectId), "The project to start from, in its newest version."),
  project_version_id: field(
    optional(ProjectVersionId),
    "The version of a project to start from, in place of `project_id`."
  ),
  repository: field(
    optional(SessionRepository),
    "The origin of the workspace. When absent, that of the project; without one the workspace starts empty."
  ),
  harness: field(
    optional(HarnessSelection),
    "The provider. When absent, that of the project, else the default of the installation."
  ),
  executor: field(
    optional(ExecutorSelection),
    "The executor. When absent, that of the project, else the default of the installation."
  ),
  connection_id: field(
    optional(ConnectionId),
    "The connection for the model. When absent, the one of the project, else the newest fitting one of the workspace."
  ),
  title: field(optional(Title), "Its title, at most 500 characters."),
  labels: field(optional(Labels), "Names and values of your own."),
  permissions: field(
    optional(PermissionPolicy),
    "What its agent may do by itself. When absent, what the project says, else what the provider is set up for."
  ),
  auto_capture: field(optional(Schema.Boolean), "False captures no changeset at the end of turns; true when absent."),
  budget: field(
    optional(BudgetInput),
    "What the model calls of the session may spend, with those of the sessions that work for it or go on from it."
  ),
  tools: field(
    optional(SessionTools),
    "The tools that its agent is offered. `own` comes before what the project says. A provider whose agent calls no tools refuses functions."
  ),
  message: field(optional(FirstMessage), "The first message, which starts a turn."),
  prewarm: field(
    optional(Schema.Boolean),
    "False leaves the workspace and the agent to the first turn. When absent, they are made ready ahead of it where the server has room."
  )
}).annotations({ identifier: "SessionInput", description: "A session to be. Every field may be absent." })
export type SessionInput = typeof SessionInput.Type

export const SessionPatch = Schema.Struct({
  title: field(
    Schema.optionalWith(Schema.NullOr(Title), { exact: true }),
    "The new title, at most 500 characters; null for none."
  ),
  labels: field(optional(Labels), "The new labels, in place of all that there are."),
  model: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255))),
    "The model from the next turn on."
  ),
  options: field(
    Schema.optionalWith(Schema.NullOr(OptionChoices), { exact: true }),
    "The options of the agent from the next turn on, in place of all that were chosen; null for the agent's own choices."
  ),
  permissions: field(
    Schema.optionalWith(Schema.NullOr(PermissionPolicy), { exact: true }),
    "What the agent may do by itself from the next turn on; null for what the provider is set up for."
  ),
  provider_id: field(
    optional(Schema.String),
    "The provider of the session. Another one is answered with `harness_switch_required`."
  ),
  auto_capture: field(optional(Schema.Boolean), "False captures no changeset at the end of turns."),
  repository: field(
    optional(Schema.Struct({ url: Repository.fields.url })),
    "The present URL of the repository of the session, after it was renamed or moved. Later clones, deliveries and retries go there, and the remote `origin` of the agent follows. It is refused while a turn or a delivery runs, and a credential goes only where its connection leads."
  ),
  budget: field(
    Schema.optionalWith(Schema.NullOr(BudgetInput), { exact: true }),
    "What the model calls of the session may spend, with those of the sessions that work for it or go on from it, in place of the limits that there are; null for no limit."
  ),
  expected_version: field(
    optional(Schema.Int),
    "The version that the change is meant for; another one is answered with `version_conflict`."
  )
}).annotations({ identifier: "SessionPatch", description: "What is to change. Absent fields stay as they are." })
export type SessionPatch = typeof SessionPatch.Type

export const CreatedSession = Schema.Struct({
  ...Session.fields,
  turn_id: field(
    Schema.optionalWith(TurnId, { exact: true }),
    "The turn of the first message. Present when the session was created with one."
  ),
  operation: field(
    Schema.optionalWith(OperationRef, { exact: true }),
    "The operation of that turn. Present when the session was created with a message."
  )
}).annotations({ identifier: "CreatedSession", description: "A new session." })
export type CreatedSession = typeof CreatedSession.Type

const session = idPath("session_id")

/** The endpoints of sessions themselves. Other rooms add to the group. */
export class SessionsApi extends HttpApiGroup.make("sessions")
  .add(
    read("list", "/api/workspaces/:workspace_id/sessions", "List the sessions of a workspace")
      .setPath(idPath("workspace_id"))
      .setUrlParams(
        Schema.Struct({
          ...pageFields,
          lifecycle: Schema.optionalWith(SessionLifecycle, { exact: true }),
          activity: Schema.optionalWith(SessionActivity, { exact: true }),
          project_id: Schema.optionalWith(Schema.String, { exact: true }),
          parent_session_id: Schema.optionalWith(Schema.String, { exact: true }),
          label: field(
            Schema.optionalWith(LabelText, { exact: true }),
            "Only sessions with this label, as `name=value` with the exact value; the first `=` ends the name. One label for each list."
          ),
          repository_url: field(
            Schema.optionalWith(Schema.String.pipe(Schema.maxLength(2000)), { exact: true }),
            "Only sessions of the repository with exactly this URL, as `base.repository` of a session has it."
          ),
          q: field(
            Schema.optionalWith(Schema.String.pipe(Schema.maxLength(500)), { exact: true }),
            "Only sessions whose title or one of whose messages has all of these words. The last word may be the beginning of a longer one. Case, accents and punctuation do not matter. A text without a word finds nothing."
          )
        })
      )
      .addSuccess(Page("SessionList", Session))
      .annotateContext(extension)
  )
  .add(
    post(
      "create",
      "/api/workspaces/:workspace_id/sessions",
      "Create a session, with a first message if one is given",
      "act"
    )
      .setPath(idPath("workspace_id"))
      .setPayload(SessionInput)
      .addSuccess(withStatus(CreatedSession, 201))
      .annotateContext(extension)
  )
  .add(read("get", "/api/sessions/:session_id", "Read a session").setPath(session).addSuccess(Session))
  .add(
    read("getUsage", "/api/sessions/:session_id/usage", "The usage of a session, over its turns that have ended")
      .setPath(session)
      .addSuccess(SessionUsage)
      .annotateContext(extension)
  )
  .add(
    patch("update", "/api/sessions/:session_id", "Change a session")
      .setPath(session)
      .setPayload(SessionPatch)
      .addSuccess(Session)
  )
  .add(post("archive", "/api/sessions/:session_id/archives", "Archive a session").setPath(session).addSuccess(Session))
  .add(
    post("unarchive", "/api/sessions/:session_id/unarchives", "Open an archived session again")
      .setPath(session)
      .addSuccess(withStatus(Session, 202))
      .annotateContext(extension)
  )
  .add(
    post("close", "/api/sessions/:session_id/closures", "Close a session for good").setPath(session).addSuccess(Session)
  ) {}
