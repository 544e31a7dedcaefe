import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { OptionChoices } from "../domain/AgentReport.js"
import { BudgetInput } from "../domain/Budget.js"
import { ActionableChangeset, ChangedFile, ChangesetOrigin, ChangesetState } from "../domain/Changeset.js"
import { Delegation, DelegationState } from "../domain/Delegation.js"
import { Event } from "../domain/Event.js"
import { field } from "../domain/Field.js"
import { ChangesetId, ConnectionId, ProjectId, ProjectVersionId, TurnId } from "../domain/Ids.js"
import { OperationRef } from "../domain/Job.js"
import { MessageInput, Routing } from "../domain/Message.js"
import { Page } from "../domain/Page.js"
import { PermissionPolicy } from "../domain/Permissions.js"
import { ExecutorSelection, HarnessSelection, Repository } from "../domain/Project.js"
import { Labels, Session, SessionActivity, SessionLifecycle } from "../domain/Session.js"
import { Timestamp } from "../domain/Timestamp.js"
import { FileContent, FileList, UploadedFile } from "../domain/WorkspaceFile.js"
import { DelegationAnswer, DelegationInput } from "./DelegationsApi.js"
import { extension, idPath, NeedsMachine, optional, patch, post, read, TakesFile, withStatus } from "./Endpoint.js"
import { eventParameters } from "./EventQuery.js"
import { boolean, integer, LabelText, pageFields } from "./Query.js"
import { ActivationInput, ExecutorAnswer, ReleaseInput, SessionExecutor } from "./SessionExecutor.js"
import { SessionUsage } from "./Usage.js"

const Title = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(500))

/** The first message of a session: its content by itself, or in an object as `POST /api/sessions/{session_id}/messages` takes it. */
export const FirstMessage = Schema.Union(
  MessageInput,
  Schema.Struct({
    content: field(MessageInput, "What is said."),
    routing: field(optional(Routing), "Where it goes; `queue` when absent."),
    budget: field(optional(BudgetInput), "What the model calls of its turn may spend.")
  })
).annotations({
  identifier: "FirstMessage",
  description:
    "The first message of a session: text, or a list of blocks, or an object with that as its `content`. It cannot have files, because files are " +
    "uploaded to a session that is there."
})

export const SessionInput = Schema.Struct({
  project_id: field(optional(ProjectId), "The project to start from, in its newest version."),
  project_version_id: field(
    optional(ProjectVersionId),
    "The version of a project to start from, in place of `project_id`."
  ),
  repository: field(
    optional(Repository),
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

export const EventPage = Schema.Struct({
  items: field(Schema.Array(Event), "The events."),
  next_after: field(Schema.Int, "Pass it as `after` to read on."),
  has_more: field(Schema.Boolean, "True when there are more events now."),
  event_watermark: field(Schema.Int, "The `seq` of the newest event of the session.")
}).annotations({ identifier: "EventPage", description: "Events of a session, in their order." })
export type EventPage = typeof EventPage.Type

export const EventQuery = Schema.Struct({
  after: field(
    Schema.optionalWith(integer(), { exact: true }),
    "Only events after this one: the `seq` of the last that was read. Exclusive."
  ),
  limit: eventParameters.limit,
  types: eventParameters.types,
  turn_id: field(Schema.optionalWith(Schema.String, { exact: true }), "Only the events of this turn."),
  max_seconds: eventParameters.max_seconds,
  deltas: field(
    Schema.optionalWith(boolean, { default: () => false }),
    "Streams also give words as the agent says them, before they are in the log: `event: message.delta` without an id."
  )
})

const generation =
  "Names the content of the workspace: the id of its git tree, which changes with every change of a file and comes back with the same " +
  "content. A changeset that captures the content has it as its `tree`."

export const LiveChanges = Schema.Struct({
  live: field(
    Schema.Boolean,
    "True when the workspace was read; false when these are the changes of the last changeset, because there is no workspace."
  ),
  generation: field(
    Schema.NullOr(Schema.String),
    `${generation} Without a live workspace that of the last sealed changeset; null when there is none.`
  ),
  base_commit: field(
    Schema.NullOr(Schema.String),
    "The commit that the files are compared with; null for an empty start."
  ),
  observed_at: field(Timestamp, "The time at which the files were read."),
  files: field(Schema.Array(ChangedFile), "The files that differ, sorted by path.")
}).annotations({ identifier: "LiveChanges", description: "What differs from the base commit." })
export type LiveChanges = typeof LiveChanges.Type

export const ChangesetInput = Schema.Struct({
  label: field(optional(Schema.String.pipe(Schema.maxLength(200))), "A name for it, at most 200 characters."),
  origin: field(
    optional(ChangesetOrigin.pipe(Schema.pickLiteral("explicit", "salvage"))),
    "What it is captured for; `explicit` when absent."
  ),
  source_turn_id: field(optional(TurnId), "The turn that made the work."),
  expected_generation: field(
    optional(Schema.String.pipe(Schema.pattern(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/))),
    `The \`generation\` that was reviewed: another content is not captured (\`stale_subject\`). ${generation}`
  )
}).annotations({ identifier: "ChangesetInput", description: "How a changeset is to be captured." })
export type ChangesetInput = typeof ChangesetInput.Type

export const CaptureAnswer = Schema.Struct({
  operation: field(OperationRef, "The operation that does the work."),
  changeset: field(ActionableChangeset, "The changeset as it is now."),
  event_watermark: field(
    Schema.Int,
    "The `seq` of the newest event of the session; read on from it to follow the capture."
  )
}).annotations({ identifier: "CaptureAnswer", description: "The changeset, and the operation that captures it." })
export type CaptureAnswer = typeof CaptureAnswer.Type

export const FileUpload = Schema.Struct({
  path: field(Schema.String, "The path from the root of the workspace, without a leading slash."),
  content: field(Schema.String, "The content, in the form that `encoding` says."),
  encoding: field(optional(Schema.Literal("utf-8", "base64")), "The form of `content`; `utf-8` when absent."),
  mode: field(
    optional(Schema.String.pipe(Schema.pattern(/^0?[0-7]{3}$/))),
    "Permission bits in octal, as in `0644`. When absent, those of the file that is replaced, else `0644`."
  ),
  expected_digest: field(
    optional(Schema.String.pipe(Schema.pattern(/^(absent|sha256:[0-9a-f]{64})$/))),
    "Lets the file be written only over the file with this digest, or with `absent` only where there is none."
  )
}).annotations({ identifier: "FileUpload", description: "A file that is put into the workspace of a session, whole." })
export type FileUpload = typeof FileUpload.Type

export const HarnessSwitchInput = Schema.Struct({
  harness: field(HarnessSelection, "The provider of the new session."),
  connection_id: field(optional(ConnectionId), "The connection for the model of the new session."),
  summary: field(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100_000)),
    "Tells the next agent of the work so far. It is the first message of the new session."
  ),
  changeset_id: field(
    optional(ChangesetId),
    "A changeset of this session that the workspace of the new one starts with."
  )
}).annotations({ identifier: "HarnessSwitchInput", description: "The provider to go on with." })
export type HarnessSwitchInput = typeof HarnessSwitchInput.Type

export const NativeState = Schema.Struct({
  format: field(Schema.Literal("tar+gzip"), "The form of the archive."),
  encoding: field(Schema.Literal("base64"), "The form of `content`."),
  content: field(Schema.String, "The archive."),
  digest: field(Schema.String, "The SHA-256 of the archive, as in `sha256:<hex>`."),
  state_digest: field(
    Schema.String,
    "The digest of the state itself, which is equal for equal files whenever they are archived."
  ),
  files: field(
    Schema.Array(
      Schema.Struct({
        path: field(Schema.String, "The path in the archive."),
        size: field(Schema.Int, "The size in bytes.")
      })
    ),
    "The files of the archive."
  )
}).annotations({ identifier: "NativeState", description: "The agent's own record of a conversation, as an archive." })
export type NativeState = typeof NativeState.Type

const session = idPath("session_id")

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
          )
        })
      )
      .addSuccess(Page("SessionList", Session))
      .annotateContext(extension)
  )
  .add(
    post("create", "/api/workspaces/:workspace_id/sessions", "Create a session, with a first message if one is given")
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
  )
  .add(
    read("getChanges", "/api/sessions/:session_id/changes", "What differs from the base now")
      .setPath(session)
      .addSuccess(LiveChanges)
      .annotate(NeedsMachine, "session_id")
  )
  .add(
    read("listChangesets", "/api/sessions/:session_id/changesets", "List the changesets of a session")
      .setPath(session)
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(ChangesetState, { exact: true }) }))
      .addSuccess(Page("ChangesetList", ActionableChangeset))
  )
  .add(
    post("capture", "/api/sessions/:session_id/changesets", "Capture a changeset")
      .setPath(session)
      .setPayload(ChangesetInput)
      .addSuccess(CaptureAnswer)
      .annotate(NeedsMachine, "session_id")
  )
  .add(
    read("listDelegations", "/api/sessions/:session_id/delegations", "List the delegations of a session")
      .setPath(session)
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(DelegationState, { exact: true }) }))
      .addSuccess(Page("DelegationList", Delegation))
  )
  .add(
    post("delegate", "/api/sessions/:session_id/delegations", "Delegate a part of the work to a child session")
      .setPath(session)
      .setPayload(DelegationInput)
      .addSuccess(DelegationAnswer)
  )
  .add(
    read("listEvents", "/api/sessions/:session_id/events", "Read or stream the events of a session")
      .setPath(session)
      .setUrlParams(EventQuery)
      .addSuccess(EventPage)
  )
  .add(
    read("getExecutor", "/api/sessions/:session_id/executor", "The executor of a session")
      .setPath(session)
      .addSuccess(SessionExecutor)
  )
  .add(
    post(
      "activateExecutor",
      "/api/sessions/:session_id/executor/activations",
      "Make the executor and the workspace ready"
    )
      .setPath(session)
      .setPayload(ActivationInput)
      .addSuccess(ExecutorAnswer)
  )
  .add(
    post("releaseExecutor", "/api/sessions/:session_id/executor/releases", "Release the executor; the workspace stays")
      .setPath(session)
      .setPayload(ReleaseInput)
      .addSuccess(ExecutorAnswer)
  )
  .add(
    post("uploadFile", "/api/sessions/:session_id/file-uploads", "Put a file into the workspace")
      .setPath(session)
      .setPayload(FileUpload)
      .addSuccess(UploadedFile)
      .annotate(NeedsMachine, "session_id")
      .annotate(TakesFile, true)
  )
  .add(
    read("listFiles", "/api/sessions/:session_id/files", "List a directory of the workspace")
      .setPath(session)
      .setUrlParams(Schema.Struct({ path: Schema.optionalWith(Schema.String, { default: () => "" }) }))
      .addSuccess(FileList)
      .annotate(NeedsMachine, "session_id")
  )
  .add(
    read("getFile", "/api/sessions/:session_id/files/content", "Read a file of the workspace")
      .setPath(session)
      .setUrlParams(Schema.Struct({ path: Schema.String }))
      .addSuccess(FileContent)
      .annotate(NeedsMachine, "session_id")
  )
  .add(
    post("switchHarness", "/api/sessions/:session_id/harness-switches", "Go on in a new session with another provider")
      .setPath(session)
      .setPayload(HarnessSwitchInput)
      .addSuccess(withStatus(Session, 201))
      .annotateContext(extension)
  )
  .add(
    read("getNativeState", "/api/sessions/:session_id/native-state", "The agent's own record of the conversation")
      .setPath(session)
      .addSuccess(NativeState)
      .annotate(NeedsMachine, "session_id")
      .annotateContext(extension)
  ) {}
